// The findings and faults of launches, which `hipgraft-emulate` prints.
#pragma once

#include "modules.h"

constexpr int kMostFindings = 64, kFaultBytes = 1024, kNameBytes = 4096;

// A file for one launch. `hip_reports.py` reads it.
struct ReportFile {
  char decoded[kNameBytes];  // path of the decoded code object
  char kernel[kNameBytes];
  char fault[kFaultBytes];  // empty if there was none
  Finding findings[kMostFindings];
};

// The report of a launch. Checks write directly to the file, so it survives if the program is
// killed.
class Report {
 public:
  // Enables the checks of the settings.
  Report(Function& function, Launch& launch);
  // Ends the report after the launch, and keeps the file if it contains something new.
  void close(const char* fault);

 private:
  bool open();
  bool has_news();

  Function& function_;
  std::string path_;
  ReportFile* file_ = nullptr;
};
