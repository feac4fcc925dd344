// The durable events of the pool: servers, nodes and options. See event.h.
#pragma once

#include <string>

#include "core/state/tables.h"

namespace keiko {

/// A server took the term; first record of every run.
struct ServerStarted {
  static constexpr uint32_t kKind = 1;
  static constexpr const char* kName = "server_started";
  uint64_t term = 0;
  template <class S, class V> static void fields(S& s, V&& v) { v(1, "term", s.term); }
};

/// A node came, came back, or came with other hardware.
struct NodeJoined {
  static constexpr uint32_t kKind = 13;
  static constexpr const char* kName = "node_joined";
  NodeId node;
  NodeSpec spec;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "node", s.node);
    v(2, "spec", s.spec);
  }
};

/// The node's lease ended: its devices may be given away.
struct NodeLost {
  static constexpr uint32_t kKind = 14;
  static constexpr const char* kName = "node_lost";
  NodeId node;
  template <class S, class V> static void fields(S& s, V&& v) { v(1, "node", s.node); }
};

/// An operator cordoned, drained or uncordoned a node.
struct NodeDuty {
  static constexpr uint32_t kKind = 15;
  static constexpr const char* kName = "node_duty";
  NodeId node;
  bool cordoned = false;
  bool draining = false;
  std::string why;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "node", s.node);
    v(2, "cordoned", s.cordoned);
    v(3, "draining", s.draining);
    v(4, "why", s.why);
  }
};

/// Options that change decisions live in the state, or replay would lie.
struct OptionsChanged {
  static constexpr uint32_t kKind = 16;
  static constexpr const char* kName = "options_changed";
  LeaseOptions lease;
  std::string policy;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "lease", s.lease);
    v(2, "policy", s.policy);
  }
};

/// An operator said that a lost node will not return.
struct NodeForgotten {
  static constexpr uint32_t kKind = 17;
  static constexpr const char* kName = "node_forgotten";
  NodeId node;
  std::string why;
  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "node", s.node);
    v(2, "why", s.why);
  }
};

}  // namespace keiko
