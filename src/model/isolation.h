// What holds workers on a node to their share of it: which limits its kernel lets the agent set, by
// what, and why not where none holds.
#pragma once

#include <string>
#include <vector>

#include "base/fields.h"

namespace keiko {

/// One thing that a worker is held to.
struct Guard {
  std::string name;     ///< "memory", "cpu", "cores", "threads" or "devices"
  std::string by;       ///< "cgroup v2", "cgroup v1", "device program", "rlimit"; empty: nothing
  std::string why_not;  ///< why nothing holds it, or only half; a sentence; empty: it holds

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "name", s.name);
    v(2, "by", s.by);
    v(3, "why_not", s.why_not);
  }
  friend bool operator==(const Guard&, const Guard&) = default;
};

struct Isolation {
  std::string cgroups;  ///< as the machine mounts them: "v2", "v1", "hybrid" or "none"
  std::vector<Guard> guards;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "cgroups", s.cgroups);
    v(2, "guards", s.guards);
  }
  friend bool operator==(const Isolation&, const Isolation&) = default;
};

}  // namespace keiko
