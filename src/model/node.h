// A node: one machine of the pool, as its agent describes it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "model/device.h"
#include "model/host.h"
#include "model/isolation.h"

namespace keiko {

/// READY takes work. SLOW missed heartbeats for 3 s, UNREACHABLE for 5 s: both keep their workers
/// and take none. LOST: the lease ended, its workers count as dead. CORDONED keeps workers and
/// takes none; DRAINING also asks its workers to move. QUARANTINED keeps workers and takes none
/// because its agent finds the machine itself ill.
enum class NodeStatus : int {
  kReady = 0, kSlow = 1, kUnreachable = 2, kLost = 3, kCordoned = 4, kDraining = 5,
  kQuarantined = 6,
};
std::string to_text(NodeStatus status);

/// What the agent says of its machine. All capacities are what workers may use.
struct NodeSpec {
  std::string name;         ///< unique in the cluster, a DNS label
  std::string
      instance;  ///< random, made once per agent state directory: tells a restart from a twin
  std::string boot_id;      ///< changes at every boot of the machine
  std::string address;      ///< where other nodes reach its workers: becomes MASTER_ADDR
  int64_t cpu_milli = 0;    ///< thousandths of a core
  Bytes memory;
  std::vector<Device> devices;
  std::vector<Link> links;
  std::map<std::string, std::string> labels;  ///< "zone", "rack" and the operator's own
  std::string version;      ///< of the agent
  std::string image_runtime;     ///< what runs workers in images, "runc 1.1.5"; empty: nothing
  std::string image_trouble;     ///< why nothing does, a phrase
  std::optional<HostSpec> host;  ///< absent: the agent cannot tell, or is older than the field
  std::optional<Isolation> isolation;  ///< absent: likewise

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "name", s.name);
    v(2, "instance", s.instance);
    v(3, "boot_id", s.boot_id);
    v(4, "address", s.address);
    v(5, "cpu_milli", s.cpu_milli);
    v(6, "memory", s.memory);
    v(7, "devices", s.devices);
    v(8, "links", s.links);
    v(9, "labels", s.labels);
    v(10, "version", s.version);
    v(11, "host", s.host);
    v(12, "isolation", s.isolation);
    v(13, "image_runtime", s.image_runtime);
    v(14, "image_trouble", s.image_trouble);
  }
  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};

/// RETURNS: kInvalidArgument naming the field and what it should be.
Done validate(const NodeSpec& spec);

/// A DNS label: 1-63 of [a-z0-9-], no dash at the ends. Node, job and queue names are labels.
bool is_label(const std::string& text);

}  // namespace keiko
