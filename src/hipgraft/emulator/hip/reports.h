// What launches have to tell: findings of checks, and faults. `hipgraft-emulate` puts it in words.
#pragma once

#include "modules.h"

constexpr int kMostFindings = 64, kFaultBytes = 1024, kNameBytes = 4096;

// A file for one launch. `hip_reports.py` reads it.
struct ReportFile {
  char decoded[kNameBytes];  // path of the decoded code object
  char kernel[kNameBytes];
  char fault[kFaultBytes];  // empty where there was none
  Finding findings[kMostFindings];
};

// The report of a launch. Checks write to the file itself, which stays where the program is killed.
class Report {
 public:
  // Asks for the checks that the settings name.
  Report(Function& function, Launch& launch);
  // After the launch: keeps the file where there is something new to tell.
  void close(const char* fault);

 private:
  bool open();
  bool has_news();

  Function& function_;
  std::string path_;
  ReportFile* file_ = nullptr;
};
