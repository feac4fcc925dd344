// XidLedger: counts the XIDs of each GPU, which two tell of: the management library by events and
// the kernel's log by lines. Either may miss some, so both are heard; what both tell within a few
// seconds is one. Pure; for one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "base/time.h"

namespace keiko::telemetry {

/// The XIDs of one device since the agent started.
struct XidRecord {
  int64_t last = 0;                  ///< 0: none yet
  std::string last_text;             ///< a sentence
  std::map<int64_t, int64_t> counts; ///< by XID, so that a repeat shows
};

enum class XidTeller : int { kLibrary = 0, kKernelLog = 1 };

struct XidSighting {
  XidTeller teller = XidTeller::kLibrary;
  std::string gpu;   ///< the whole GPU: its UUID, or its PCI address if nobody knows that
  std::string uuid;  ///< whom it is counted for: the GPU or a slice of it
  int64_t xid = 0;
  std::string text;
  Time at;           ///< when it was heard of
};

class XidLedger {
 public:
  /// Both look once a second; a slow one may be some seconds late.
  static constexpr Duration kTogether = seconds(5);

  /// RETURNS: false if the other one has told of it. REQUIRES: `at` never goes back.
  bool put(const XidSighting& seen);

  /// RETURNS: by XidSighting::uuid.
  const std::map<std::string, XidRecord>& records() const { return records_; }

 private:
  struct Single {  ///< only one has told of it so far
    XidTeller teller = XidTeller::kLibrary;
    Time at;
  };
  std::map<std::pair<std::string, int64_t>, std::deque<Single>> singles_;  ///< by GPU and XID
  std::map<std::string, XidRecord> records_;
};

}  // namespace keiko::telemetry
