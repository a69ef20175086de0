#include "plans.h"

#include <unistd.h>

#include <cstdio>
#include <map>
#include <mutex>

#include "digests.h"
#include "errors.h"
#include "helper.h"
#include "known_code.h"

namespace hipgraft {

namespace {

// Returns a graph's key in the cache; `hipgraft.helper.plans.Plan.key` computes the same.
std::string key(std::string_view graph, const std::string &target) {
  std::string prefix = "hipgraft " HIPGRAFT_RELEASE " " + target + "\n";
  Sha256 digest;
  digest.update(prefix.data(), prefix.size());
  digest.update(graph.data(), graph.size());
  return digest.text();
}

std::string cached_file(const std::string &key, const char *suffix) {
  return cache_directory() + "/hipdnn/" + key.substr(0, 2) + "/" + key + suffix;
}

std::string first_line(const std::string &path) {
  char text[1024] = "";
  FILE *file = fopen(path.c_str(), "re");
  if (file && !fgets(text, sizeof text, file)) text[0] = '\0';
  if (file) fclose(file);
  std::string_view found = text;
  return std::string(found.substr(0, found.find('\n')));
}

// Looks a graph up in the cache: 1 for a bundle, 0 for a refusal, -1 for no entry.
int look_up(const std::string &key, Answer &answer) {
  std::string bundle = cached_file(key, ".hgb"), refusal = cached_file(key, ".no");
  if (!access(bundle.c_str(), R_OK)) {
    answer = {true, bundle};
    return 1;
  }
  if (access(refusal.c_str(), R_OK)) return -1;
  answer = {false, first_line(refusal)};
  return 0;
}

Answer ask(const char *what, std::string_view graph, const std::string &target) {
  std::string answer = ask_helper(what, target, graph);
  std::string_view text = answer;
  if (text.substr(0, 4) == "yes ") return {true, std::string(text.substr(4))};
  if (text.substr(0, 3) == "no ") return {false, std::string(text.substr(3))};
  fail(HIPGRAFT_INTERNAL_ERROR, "the helper answers '%.200s'", answer.c_str());
}

// Answers of this process, by key: a known graph needs no file.
class Known {
 public:
  bool find(const std::string &key, Answer &answer) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = answers_.find(key);
    if (found != answers_.end()) answer = found->second;
    return found != answers_.end();
  }
  void keep(const std::string &key, const Answer &answer) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (answers_.size() >= kMost) answers_.clear();
    answers_[key] = answer;
  }

 private:
  static constexpr size_t kMost = 4096;
  std::mutex mutex_;
  std::map<std::string, Answer> answers_;
};

Known known;

}  // namespace

Answer check_graph(std::string_view graph, const std::string &target) {
  std::string name = key(graph, target);
  Answer answer;
  if (known.find(name, answer)) return answer;
  if (look_up(name, answer) < 0) answer = ask("check", graph, target);
  known.keep(name, answer);
  return answer;
}

Answer compile_graph(std::string_view graph, const std::string &target) {
  std::string name = key(graph, target);
  Answer answer;
  if (look_up(name, answer) < 0) answer = ask("compile", graph, target);
  known.keep(name, answer);  // a graph that failed to compile is not claimed again
  return answer;
}

Answer cached_graph(std::string_view graph, const std::string &target) {
  Answer answer{false, "nobody has compiled the graph for these shapes"};
  look_up(key(graph, target), answer);
  return answer;
}

}  // namespace hipgraft
