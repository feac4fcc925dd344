// Verdict: the answer of a scheduler about one request. A refusal is a valid answer, not an Error.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"
#include "model/job.h"

namespace keiko {

enum class Fit : int { kFits = 0, kNotNow = 1, kNever = 2 };
std::string to_text(Fit fit);  ///< "fits" "not_now" "never"

/// What could turn a refusal around: a blocked job wakes for these, not for everything.
enum class Cure : int {
  kDevicesFreed = 0,
  kNodeJoined = 1,
  kNodeReturned = 2,
  kRelease = 3,
  kTimePasses = 4,
  kSmallerAsk = 5,
  kQuarantineEnded = 6,
};
std::string to_text(Cure cure);

/// One condition of a request and how many nodes (or devices) failed it.
struct Clause {
  std::string name;       ///< "device kind h100", "8 free devices"
  int32_t rejected = 0;   ///< nodes that fail this clause first
  std::string nearest;    ///< the nearest miss: "n3 has 6 free"

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "name", s.name);
    v(2, "rejected", s.rejected);
    v(3, "nearest", s.nearest);
  }
  friend bool operator==(const Clause&, const Clause&) = default;
};

struct Verdict {
  Fit fit = Fit::kFits;
  Reason reason = Reason::kNone;
  std::string sentence;          ///< for a person, whole
  std::vector<Cure> cured_by;
  std::vector<Clause> clauses;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "fit", s.fit);
    v(2, "reason", s.reason);
    v(3, "sentence", s.sentence);
    v(4, "cured_by", s.cured_by);
    v(5, "clauses", s.clauses);
  }
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

}  // namespace keiko
