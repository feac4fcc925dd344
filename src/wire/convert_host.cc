// What a machine is beside its accelerators.
#include "wire/convert.h"
#include "wire/words.h"

namespace keiko {
namespace {

v1::Nic nic_to_proto(const Nic& nic) {
  v1::Nic out;
  out.set_name(nic.name);
  out.set_interface(nic.interface);
  out.set_kind(to_text(nic.kind));
  out.set_pci_address(nic.pci_address);
  out.set_numa_node(nic.numa_node);
  out.set_up(nic.up);
  out.set_megabits_per_s(nic.megabits_per_s);
  out.set_port_guid(nic.port_guid);
  out.set_subnet(nic.subnet);
  out.set_subnet_lid(nic.subnet_lid);
  out.mutable_members()->Assign(nic.members.begin(), nic.members.end());
  return out;
}

Result<Nic> nic_from_proto(const v1::Nic& in) {
  Nic nic;
  nic.name = in.name();
  nic.interface = in.interface();
  if (!in.kind().empty()) nic.kind = TRY(parse_word(in.kind(), kNicKinds, "nics.kind"));
  nic.pci_address = in.pci_address();
  nic.numa_node = in.numa_node();
  nic.up = in.up();
  nic.megabits_per_s = in.megabits_per_s();
  nic.port_guid = in.port_guid();
  nic.subnet = in.subnet();
  nic.subnet_lid = in.subnet_lid();
  nic.members.assign(in.members().begin(), in.members().end());
  return nic;
}

}  // namespace

v1::Isolation to_proto(const Isolation& isolation) {
  v1::Isolation out;
  out.set_cgroups(isolation.cgroups);
  for (const Guard& guard : isolation.guards) {
    v1::Guard& added = *out.add_guards();
    added.set_name(guard.name);
    added.set_by(guard.by);
    added.set_why_not(guard.why_not);
  }
  return out;
}

Isolation from_proto(const v1::Isolation& in) {
  Isolation isolation;
  isolation.cgroups = in.cgroups();
  for (const v1::Guard& guard : in.guards()) {
    isolation.guards.push_back({guard.name(), guard.by(), guard.why_not()});
  }
  return isolation;
}

v1::Host to_proto(const HostSpec& host) {
  v1::Host out;
  out.set_packages(host.packages);
  for (const NumaNode& node : host.numa) {
    v1::NumaNode& added = *out.add_numa();
    added.set_index(node.index);
    added.set_package(node.package);
    added.set_cores(node.cores);
    added.set_memory(node.memory.count);
    added.set_siblings(node.siblings);
  }
  for (const Nic& nic : host.nics) *out.add_nics() = nic_to_proto(nic);
  for (const PciSlot& slot : host.slots) {
    v1::PciSlot& added = *out.add_slots();
    added.set_path(slot.path);
    added.set_numa_node(slot.numa_node);
  }
  return out;
}

Result<HostSpec> from_proto(const v1::Host& in) {
  HostSpec host;
  host.packages = in.packages();
  for (const v1::NumaNode& node : in.numa()) {
    host.numa.push_back({node.index(), node.package(), node.cores(), Bytes{node.memory()},
                         node.siblings()});
  }
  for (const v1::Nic& nic : in.nics()) host.nics.push_back(TRY(nic_from_proto(nic)));
  for (const v1::PciSlot& slot : in.slots()) host.slots.push_back({slot.path(), slot.numa_node()});
  return host;
}

}  // namespace keiko
