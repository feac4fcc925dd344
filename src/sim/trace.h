// The trace of a run: one line per note of a brain and per fault, the same text as the production
// log. Its digest stands for the whole run: two runs of one seed must have the same.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/time.h"

namespace keiko::sim {

class Trace {
 public:
  Trace(bool keep, bool print) : keep_(keep), print_(print) {}

  /// `who`: "server", "client", "fault" or an agent's name.
  void line(Duration since_start, const std::string& who, const std::string& text) {
    char time[32];
    std::snprintf(time, sizeof time, "%9.3f ", since_start.seconds());
    const std::string whole = time + who + ": " + text;
    digest_ = digest_of(whole, digest_);
    if (print_) std::printf("%s\n", whole.c_str());
    if (keep_) lines_.push_back(whole);
  }

  const std::vector<std::string>& lines() const { return lines_; }
  Digest digest() const { return digest_; }

 private:
  bool keep_;
  bool print_;
  std::vector<std::string> lines_;
  Digest digest_;
};

}  // namespace keiko::sim
