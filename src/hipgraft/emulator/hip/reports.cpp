// See reports.h.
#include "reports.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace {

// Files get their final names when they are complete.
constexpr char kUnfinished[] = "/launch-", kFinished[] = "/report-";

std::string name_of_next() {
  static std::atomic<int> number;
  return std::to_string(getpid()) + "-" + std::to_string(number++);
}

template <size_t Size>
void copy_text(char (&to)[Size], const std::string& text) {
  text.copy(to, Size - 1);
}

}  // namespace

Report::Report(Function& function, Launch& launch) : function_(function) {
  const uint32_t checks = state().settings.number("checks");
  if (!checks || !open()) return;
  launch.checks = checks;
  launch.findings = (uint64_t)file_->findings;
  launch.most_findings = kMostFindings;
}

bool Report::open() {
  path_ = state().settings.text("folder") + kUnfinished + name_of_next();
  int file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void* mapped = MAP_FAILED;
  if (file >= 0 && !ftruncate(file, sizeof *file_))
    mapped = mmap(nullptr, sizeof *file_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) ::close(file);
  if (mapped == MAP_FAILED) {
    complain("'" + path_ + "' cannot be written");
    return false;
  }
  file_ = (ReportFile*)mapped;
  copy_text(file_->decoded, function_.module->path);
  copy_text(file_->kernel, function_.name);
  return true;
}

// Whether there is a fault, or a finding that no earlier launch of the kernel had.
bool Report::has_news() {
  bool found = file_->fault[0];
  for (const Finding& one : file_->findings) {
    if (!one.kind && !one.size) break;
    auto [low, high] = std::minmax(one.instruction, one.other_instruction);
    found |= function_.told.insert({one.kind, low, high}).second;
  }
  return found;
}

void Report::close(const char* fault) {
  if (*fault && !file_ && !open()) complain("kernel '" + function_.name + "': " + fault);
  if (!file_) return;
  copy_text(file_->fault, fault);
  bool is_kept = has_news();
  munmap(file_, sizeof *file_);
  file_ = nullptr;
  std::string name = path_.substr(path_.rfind(kUnfinished) + sizeof kUnfinished - 1);
  if (!is_kept)
    unlink(path_.c_str());
  else if (rename(path_.c_str(), (state().settings.text("folder") + kFinished + name).c_str()))
    complain("'" + path_ + "' cannot be renamed");
}
