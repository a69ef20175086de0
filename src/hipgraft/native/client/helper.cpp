#include "helper.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "digests.h"
#include "environment.h"
#include "errors.h"
#include "known_code.h"

extern char **environ;

namespace hipgraft {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostAnswer = 1 << 16;
constexpr auto kStart = std::chrono::seconds(60);  // wait for a started helper to answer
constexpr int kMostTries = 100;  // retries if the helper is killed
constexpr auto kPause = std::chrono::milliseconds(20);

// A file descriptor.
class File {
 public:
  explicit File(int number) : number_(number) {}
  ~File() {
    if (number_ >= 0) close(number_);
  }
  File(File &&other) noexcept : number_(other.number_) { other.number_ = -1; }
  File(const File &) = delete;
  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

// The folder of the sockets, which the helper creates.
std::string helper_folder() {
  std::string folder = variable("XDG_RUNTIME_DIR");
  return folder.empty() ? cache_directory() + "/run" : folder + "/hipgraft";
}

// The socket of the helper that compiles into this cache, in a folder that only this user can
// access; empty if there is no cache yet. The helper creates all of them.
std::string socket_path() {
  std::string folder = helper_folder();
  struct stat status, cache;
  if (stat(cache_directory().c_str(), &cache)) return "";
  bool is_there = !lstat(folder.c_str(), &status);
  if (is_there && (!S_ISDIR(status.st_mode) || status.st_uid != getuid() || status.st_mode & 077))
    fail(HIPGRAFT_IO_ERROR, "the folder '%s' is not this user's alone", folder.c_str());
  std::string form = HIPGRAFT_RELEASE " " + std::to_string(cache.st_dev) + " " +
                     std::to_string(cache.st_ino);
  Sha256 digest;
  digest.update(form.data(), form.size());
  return folder + "/" + digest.text().substr(0, 8) + ".sock";
}

File connected(const std::string &path) {
  if (path.empty()) return File(-1);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    fail(HIPGRAFT_IO_ERROR, "the path '%s' is too long for a socket", path.c_str());
  memcpy(address.sun_path, path.data(), path.size());
  File file(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!file || connect(file.number(), reinterpret_cast<sockaddr *>(&address), sizeof address))
    return File(-1);
  ucred peer{};
  socklen_t size = sizeof peer;
  bool is_own = !getsockopt(file.number(), SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
                peer.uid == getuid();
  if (!is_own) fail(HIPGRAFT_IO_ERROR, "the helper at '%s' is another user's", path.c_str());
  return file;
}

// Finds `hipgraft-serve`: in HIPGRAFT_SERVE, in a `bin` folder above this library, or on PATH.
std::string helper_command() {
  std::string given = variable("HIPGRAFT_SERVE");
  if (!given.empty()) return given;
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(&helper_command), &info) && info.dli_fname) {
    std::string folder = info.dli_fname;
    for (size_t slash; (slash = folder.rfind('/')) != std::string::npos && slash;) {
      folder.resize(slash);
      std::string command = folder + "/bin/hipgraft-serve";
      if (!access(command.c_str(), X_OK)) return command;
    }
  }
  return "hipgraft-serve";
}

// Starts the helper as a daemon; if one already runs, the new one exits.
void start_helper() {
  std::string command = helper_command();
  char background[] = "--background";
  char *arguments[] = {command.data(), background, nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int number : {0, 1, 2})
    posix_spawn_file_actions_addopen(&actions, number, "/dev/null", number ? O_WRONLY : O_RDONLY, 0);
  pid_t child = 0;
  int status = posix_spawnp(&child, command.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (status)
    fail(HIPGRAFT_IO_ERROR, "cannot start the helper '%s': %s; set HIPGRAFT_SERVE to its path",
         command.c_str(), strerror(status));
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(ended) && WEXITSTATUS(ended))
    fail(HIPGRAFT_IO_ERROR, "the helper '%s' cannot start", command.c_str());
}

File helper() {
  if (variable("HIPGRAFT_SERVE") == "off")
    fail(HIPGRAFT_NOT_APPLICABLE, "the graph is not in the cache, and HIPGRAFT_SERVE is off");
  if (File file = connected(socket_path())) return file;
  static std::mutex starting;
  std::lock_guard<std::mutex> lock(starting);
  for (auto end = Clock::now() + kStart; Clock::now() < end;) {
    if (File file = connected(socket_path())) return file;
    start_helper();  // listens when it returns, unless it was killed
  }
  fail(HIPGRAFT_IO_ERROR, "the helper '%s' does not answer", helper_command().c_str());
}

// Sends a request and reads the answer; returns false if the helper closed the connection.
bool exchange(const File &file, std::string_view request, std::string &answer) {
  for (size_t done = 0; done < request.size();) {
    ssize_t count = send(file.number(), request.data() + done, request.size() - done, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  answer.clear();
  char buffer[4096];
  while (answer.size() < kMostAnswer) {
    ssize_t count = recv(file.number(), buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    answer.append(buffer, static_cast<size_t>(count));
  }
  size_t end = answer.find('\n');
  if (end == std::string::npos) return false;
  answer.resize(end);
  return true;
}

}  // namespace

std::string ask_helper(const char *what, const std::string &architecture, std::string_view data) {
  std::string request = std::string("hipgraft 1 ") + what + " " + architecture + " " +
                        std::to_string(data.size()) + "\n";
  request += data;
  std::string answer;
  for (int tries = 0; !exchange(helper(), request, answer); ++tries) {
    if (tries == kMostTries) fail(HIPGRAFT_IO_ERROR, "the helper ends before it answers");
    std::this_thread::sleep_for(kPause);
  }
  return answer;
}

}  // namespace hipgraft
