#include "files.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "errors.h"

namespace hipgraft::ort {

namespace {

using File = std::unique_ptr<FILE, int (*)(FILE *)>;

File opened(const std::string &path, const char *mode) {
  File file(fopen(path.c_str(), mode), fclose);
  if (!file) fail(HIPGRAFT_IO_ERROR, "cannot open '%s': %s", path.c_str(), strerror(errno));
  return file;
}

}  // namespace

std::string contents(const std::string &path, size_t most) {
  File file = opened(path, "re");
  std::string text;
  char buffer[65536];
  for (size_t count; (count = fread(buffer, 1, sizeof buffer, file.get())) > 0;) {
    text.append(buffer, count);
    if (text.size() > most) fail(HIPGRAFT_DAMAGED, "'%s' is too long", path.c_str());
  }
  return text;
}

void write_file(const std::string &path, const std::vector<std::string_view> &pieces) {
  File file = opened(path, "we");
  bool is_written = true;
  for (std::string_view piece : pieces)
    is_written &= fwrite(piece.data(), 1, piece.size(), file.get()) == piece.size();
  if (!is_written || fflush(file.get()))
    fail(HIPGRAFT_IO_ERROR, "cannot write '%s': %s", path.c_str(), strerror(errno));
}

void make_folders(const std::string &path) {
  for (size_t at = 0; at != std::string::npos;) {
    at = path.find('/', at + 1);
    mkdir(path.substr(0, at).c_str(), 0777);
  }
}

std::string folder_of(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace hipgraft::ort
