// What the agent says of its machine: name, address, capacity, and the environment that workers
// start from. Read once at start.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/options.h"
#include "model/node.h"

namespace keiko::agent {

/// RETURNS: `options` made complete by what the machine shows. kInvalidArgument for a name that is
/// no label; an Error if the server's name does not resolve and no address was given.
Result<NodeSpec> describe_machine(const AgentOptions& options, const std::string& instance,
                                  Inventory inventory);

/// RETURNS: the nearest DNS label: "Ada's-PC.local" becomes "ada-s-pc"; "node" if nothing is left.
std::string label_of(std::string_view host_name);

/// RETURNS: what this machine's node is called unless it is told otherwise.
std::string usual_node_name();

/// RETURNS: the address of this machine that traffic to "host:port" leaves from.
Result<std::string> address_towards(const std::string& server);

/// RETURNS: PATH, HOME, USER, LANG and TMPDIR of this process, those that are set.
std::map<std::string, std::string> base_environment();

/// RETURNS: the cores that this process may use, in order.
std::vector<int32_t> usable_cores();

/// RETURNS: the cores of some cpu slots: slot i of n has every core whose place is i modulo n, or
/// shares one where there are fewer cores than slots. Sorted, each core once.
std::vector<int32_t> cores_of_slots(const std::vector<int32_t>& cores,
                                    const std::vector<int32_t>& slots, int32_t slot_count);

}  // namespace keiko::agent
