#include "answers.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "digests.h"
#include "files.h"
#include "helper.h"
#include "json.h"
#include "known_code.h"

namespace hipgraft::ort {

namespace {

constexpr size_t kMostAnswer = size_t{64} << 20;
// The inputs that determine the result of a compilation.
constexpr const char *kKeyOptions[] = {"dims", "dynamic", "fallback", "search", "target"};

// A temporary folder for a request.
class Request {
 public:
  Request() {
    path_ = cache_directory() + "/requests";
    make_folders(path_);
    path_ += "/XXXXXX";
    if (!mkdtemp(path_.data()))
      fail(HIPGRAFT_IO_ERROR, "cannot make the folder '%s': %s", path_.c_str(), strerror(errno));
  }
  ~Request() {
    for (const std::string &name : files_) unlink(name.c_str());
    rmdir(path_.c_str());
  }
  Request(const Request &) = delete;

  std::string write(const char *name, const std::vector<std::string_view> &pieces) {
    files_.push_back(path_ + "/" + name);
    write_file(files_.back(), pieces);
    return files_.back();
  }

 private:
  std::string path_;
  std::vector<std::string> files_;
};

std::string option(const Options &options, const char *key) {
  auto found = options.find(key);
  return found == options.end() ? "" : found->second;
}

std::string key_of(const Model &model, bool is_nested, const std::string &architecture,
                   const Options &options) {
  std::string text = "hipgraft " HIPGRAFT_RELEASE " " + architecture + "\n";
  for (const char *key : kKeyOptions)
    if (options.count(key)) text += std::string(key) + "=" + option(options, key) + "\n";
  if (is_nested) text += "nested\n";
  text += "\n";
  Sha256 digest;
  digest.update(text.data(), text.size());
  digest.update(model.data.data(), model.data.size());
  for (std::string_view piece : model.weights) digest.update(piece.data(), piece.size());
  return digest.text();
}

// Returns a request in JSON; `fields` are those of its kind.
std::string request_text(const std::string &key, const std::string &fields,
                         const std::string &architecture, const Options &options) {
  std::string text = "{\"version\": 1, \"key\": " + quoted(key) + ", " + fields +
                     ", \"architectures\": [" + quoted(architecture) + "], \"options\": {";
  const char *separator = "";
  for (auto &[name, value] : options) {
    text += separator + quoted(name) + ": " + quoted(value);
    separator = ", ";
  }
  return text + "}}\n";
}

std::string shapes_text(const Shapes &shapes) {
  std::string text;
  for (auto &shape : shapes) {
    text += text.empty() ? "[" : ", [";
    for (size_t i = 0; i < shape.size(); ++i)
      text += (i ? ", " : "") + std::to_string(shape[i]);
    text += "]";
  }
  return "[" + text + "]";
}

// The common prefix of the paths of an answer's files.
std::string place_of(const std::string &key) {
  return cache_directory() + "/onnxruntime/" + key.substr(0, 2) + "/" + key;
}

// Asks the helper; returns the path of its answer.
std::string send(Request &request, const std::string &text, const std::string &architecture) {
  std::string line = ask_helper("session", architecture, request.write("request.json", {text}));
  if (line.substr(0, 4) != "yes ")
    fail(HIPGRAFT_NOT_APPLICABLE, "%s", line.substr(0, 6) == "error " ? line.c_str() + 6 : line.c_str());
  return line.substr(4);
}

std::vector<std::string> names(const Json &field) {
  std::vector<std::string> found;
  for (const Json &one : field.array()) found.push_back(one.string());
  return found;
}

// Whether an answer is in the cache with all its files.
bool look_up(const std::string &key, size_t node_count, const Options &options, Answer &answer) {
  std::string path = place_of(key) + ".json";
  if (access(path.c_str(), R_OK)) return false;
  answer = read_answer(contents(path, kMostAnswer), node_count);
  for (const Group &group : answer.groups)
    if (access(group.bundle.c_str(), R_OK)) return false;
  bool is_kept = answer.groups.empty() || option(options, "dynamic") != "compile";
  return is_kept || !access((place_of(key) + "/model.onnx").c_str(), R_OK);
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string found = "\"";
  for (char one : text) {
    char escaped[8];
    if (one == '"' || one == '\\') {
      found += '\\';
      found += one;
    } else if (static_cast<unsigned char>(one) < 0x20) {
      snprintf(escaped, sizeof escaped, "\\u%04x", one);
      found += escaped;
    } else {
      found += one;
    }
  }
  return found + "\"";
}

Answer read_answer(std::string_view text, size_t node_count) {
  Json whole = Json::parse(text);
  if (whole["version"].number() != 1) fail(HIPGRAFT_DAMAGED, "the answer is of another version");
  Answer answer;
  std::vector<bool> is_taken(node_count);
  for (const Json &fields : whole["groups"].array()) {
    Group group{{}, names(fields["inputs"]), names(fields["outputs"]), fields["bundle"].string(),
                {}, "", answer.groups.size()};
    if (const Json *variants = fields.find("variants"))
      for (const Json &variant : variants->array()) {
        group.variants.emplace_back();
        for (const Json &shape : variant["inputs"].array())
          group.variants.back().push_back(shape.numbers());
      }
    for (int64_t node : fields["nodes"].numbers()) {
      auto index = static_cast<size_t>(node);
      if (index >= node_count || is_taken[index])
        fail(HIPGRAFT_DAMAGED, "the answer takes node %zu of %zu, or takes it twice", index,
             node_count);
      is_taken[index] = true;
      group.nodes.push_back(index);
    }
    if (group.nodes.empty() || group.outputs.empty())
      fail(HIPGRAFT_DAMAGED, "the answer has an empty group");
    answer.groups.push_back(std::move(group));
  }
  answer.summary = whole["summary"].string();
  answer.report = whole["report"].string();
  return answer;
}

Answer ask(const Model &model, bool is_nested, size_t node_count, const std::string &architecture,
           const Options &options) {
  std::string key = key_of(model, is_nested, architecture, options);
  Answer answer;
  if (!look_up(key, node_count, options, answer)) {
    if (option(options, "serve") == "off")
      fail(HIPGRAFT_NOT_APPLICABLE, "the graph is not in the cache, and the option serve is off");
    Request request;
    request.write("model.onnx", {model.data});
    if (!model.weights.empty()) request.write(kWeights, model.weights);
    std::string fields = "\"model\": \"model.onnx\", \"weights\": ";
    fields += model.weights.empty() ? "\"\"" : "\"weights.bin\"";
    if (is_nested) fields += ", \"nested\": true";
    std::string text = request_text(key, fields, architecture, options);
    answer = read_answer(contents(send(request, text, architecture), kMostAnswer), node_count);
  }
  for (Group &group : answer.groups) group.key = key;
  return answer;
}

std::string ask_for_shapes(const Group &group, const Shapes &shapes,
                           const std::string &architecture, const Options &options) {
  std::string number = std::to_string(group.number), text = shapes_text(shapes);
  Sha256 digest;
  digest.update(text.data(), text.size());
  std::string path =
      place_of(group.key) + "/" + number + "-" + digest.text().substr(0, 32) + ".hgb";
  if (!access(path.c_str(), R_OK)) return path;
  if (option(options, "serve") == "off")
    fail(HIPGRAFT_NOT_APPLICABLE,
         "no program for inputs of the shapes %s is in the cache, and the option serve is off",
         text.c_str());
  Request request;
  std::string fields = "\"group\": " + number + ", \"shapes\": " + text;
  return send(request, request_text(group.key, fields, architecture, options), architecture);
}

}  // namespace hipgraft::ort
