#include "known_code.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "digests.h"
#include "environment.h"

namespace hipgraft {

std::string cache_directory() {
  std::string given = variable("HIPGRAFT_CACHE_DIR");
  if (!given.empty()) return given;
  std::string caches = variable("XDG_CACHE_HOME");
  if (caches.find_first_not_of(" \t") == std::string::npos) {
    std::string home = variable("HOME");
    passwd *user = home.empty() ? getpwuid(getuid()) : nullptr;
    caches = (user ? user->pw_dir : home) + std::string("/.cache");
  }
  return caches + "/hipgraft";
}

bool is_known_code(const std::vector<std::string_view> &pieces) {
  Sha256 whole;
  for (std::string_view piece : pieces) {
    uint8_t length[8];
    for (int i = 0; i < 8; ++i)
      length[i] = static_cast<uint8_t>(static_cast<uint64_t>(piece.size()) >> 8 * i);
    whole.update(length, sizeof length);
    whole.update(piece.data(), piece.size());
  }
  std::string folder = cache_directory() + "/known-code";
  struct stat status;
  bool is_own = !lstat(folder.c_str(), &status) && S_ISDIR(status.st_mode) &&
                status.st_uid == geteuid() && !(status.st_mode & (S_IWGRP | S_IWOTH));
  return is_own && !access((folder + "/" + whole.text()).c_str(), F_OK);
}

}  // namespace hipgraft
