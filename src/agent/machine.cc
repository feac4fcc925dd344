#include "agent/machine.h"

#include <netdb.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <set>

#include "agent/state_folder.h"

namespace keiko::agent {
namespace {

constexpr size_t kLabelLength = 63;

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return {};
  return name;
}

Bytes memory_of_machine() {
  return Bytes{int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE)};
}

/// Splits "host:port", "[::1]:port" or "host". RETURNS: host and port, the port empty if not given.
std::pair<std::string, std::string> host_and_port(const std::string& server) {
  if (!server.empty() && server[0] == '[') {
    const size_t end = server.find(']');
    if (end == std::string::npos) return {server, {}};
    const bool has_port = end + 1 < server.size() && server[end + 1] == ':';
    return {server.substr(1, end - 1), has_port ? server.substr(end + 2) : std::string()};
  }
  const size_t colon = server.rfind(':');
  if (colon == std::string::npos) return {server, {}};
  return {server.substr(0, colon), server.substr(colon + 1)};
}

/// Connecting a datagram socket sends nothing; it only makes the kernel choose a source address.
std::string source_address(const addrinfo& target) {
  const int fd = socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return {};
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  char text[NI_MAXHOST] = {};
  const bool found =
      connect(fd, target.ai_addr, target.ai_addrlen) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
      getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text, sizeof text, nullptr, 0,
                  NI_NUMERICHOST) == 0;
  close(fd);
  return found ? text : std::string();
}

}  // namespace

std::string label_of(std::string_view host) {
  std::string label;
  for (const char c : host.substr(0, host.find('.'))) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 128 && std::isalnum(byte) != 0;
    if (plain) {
      label += static_cast<char>(std::tolower(byte));
    } else if (!label.empty() && label.back() != '-') {
      label += '-';
    }
  }
  label.resize(std::min(label.size(), kLabelLength));
  while (!label.empty() && label.back() == '-') label.pop_back();
  return label.empty() ? "node" : label;
}

Result<std::string> address_towards(const std::string& server) {
  const auto [host, port] = host_and_port(server);
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const char* service = port.empty() ? "7070" : port.c_str();
  const int failed = getaddrinfo(host.c_str(), service, &hints, &found);
  if (failed != 0) {
    return unavailable("cannot resolve the server '" + server + "': " + gai_strerror(failed) +
                       "; give this node's own address with --address, or mend the server's name");
  }
  std::string own;
  for (const addrinfo* at = found; at != nullptr && own.empty(); at = at->ai_next) {
    own = source_address(*at);
  }
  freeaddrinfo(found);
  if (!own.empty()) return own;
  return unavailable("no way from here to the server '" + server +
                     "'; give the address at which other nodes reach this one with --address");
}

std::map<std::string, std::string> base_environment() {
  std::map<std::string, std::string> env;
  for (const char* name : {"PATH", "HOME", "USER", "LANG", "TMPDIR"}) {
    if (const char* value = std::getenv(name); value != nullptr) env[name] = value;
  }
  return env;
}

std::vector<int32_t> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int32_t> cores;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int32_t core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(static_cast<size_t>(core), &set)) cores.push_back(core);
    }
  }
  return cores;
}

std::vector<int32_t> cores_of_slots(const std::vector<int32_t>& cores,
                                    const std::vector<int32_t>& slots, int32_t slot_count) {
  std::set<int32_t> chosen;
  const size_t count = static_cast<size_t>(std::max(slot_count, 1));
  for (const int32_t slot : slots) {
    if (cores.empty() || slot < 0) continue;
    const size_t first = static_cast<size_t>(slot) % count;
    chosen.insert(cores[first % cores.size()]);
    for (size_t place = first; place < cores.size(); place += count) chosen.insert(cores[place]);
  }
  return {chosen.begin(), chosen.end()};
}

std::string usual_node_name() { return label_of(host_name()); }

Result<NodeSpec> describe_machine(const AgentOptions& options, const std::string& instance,
                                  Inventory inventory) {
  NodeSpec spec;
  spec.name = options.name.empty() ? usual_node_name() : options.name;
  if (!is_label(spec.name)) {
    return invalid_argument("'" + spec.name + "' cannot be a node's name: it must be 1 to 63 of "
                            "a-z, 0-9 and '-', without '-' at its ends; try '" +
                                label_of(spec.name) + "'", "name");
  }
  spec.instance = instance;
  spec.boot_id = boot_id();
  spec.address = options.address.empty() ? TRY(address_towards(options.server)) : options.address;
  const auto cores = static_cast<int64_t>(usable_cores().size());
  spec.cpu_milli = options.cpu_milli > 0 ? options.cpu_milli : std::max<int64_t>(cores, 1) * 1000;
  spec.memory = options.memory.count > 0 ? options.memory : memory_of_machine();
  spec.devices = std::move(inventory.devices);
  spec.links = std::move(inventory.links);
  spec.labels = options.labels;
  spec.version = options.version;
  spec.image_runtime = options.image_runtime;
  spec.image_trouble = options.image_trouble;
  TRY(validate(spec));
  return spec;
}

}  // namespace keiko::agent
