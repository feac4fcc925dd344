// Nodes, their devices and links.
#include "wire/convert.h"
#include "wire/words.h"

namespace keiko {

v1::Device to_proto(const Device& device) {
  v1::Device out;
  out.set_uuid(device.uuid);
  out.set_kind(device.kind);
  out.set_vendor(device.vendor);
  out.set_index(device.index);
  out.set_numa_node(device.numa_node);
  out.set_memory(device.memory.count);
  out.set_pci_address(device.pci_address);
  out.set_parent_uuid(device.parent_uuid);
  out.set_mig_profile(device.mig_profile);
  out.set_product(device.product);
  out.set_architecture(device.architecture);
  out.set_driver_version(device.driver_version);
  out.set_host_megabytes_per_s(device.host_megabytes_per_s);
  out.mutable_files()->Assign(device.files.begin(), device.files.end());
  return out;
}

Device from_proto(const v1::Device& in) {
  return {in.uuid(),
          in.kind(),
          in.vendor(),
          in.index(),
          in.numa_node(),
          Bytes{in.memory()},
          in.pci_address(),
          in.parent_uuid(),
          in.mig_profile(),
          in.product(),
          in.architecture(),
          in.driver_version(),
          in.host_megabytes_per_s(),
          {in.files().begin(), in.files().end()}};
}

v1::Link to_proto(const Link& link) {
  v1::Link out;
  out.set_first(link.first);
  out.set_second(link.second);
  out.set_kind(to_text(link.kind));
  out.set_megabytes_per_s(link.megabytes_per_s);
  set_proto(*out.mutable_latency(), link.latency);
  out.set_healthy_megabytes_per_s(link.healthy_megabytes_per_s);
  return out;
}

Result<Link> from_proto(const v1::Link& in) {
  Link link;
  link.first = in.first();
  link.second = in.second();
  if (!in.kind().empty()) link.kind = TRY(parse_word(in.kind(), kLinkKinds, "links.kind"));
  link.megabytes_per_s = in.megabytes_per_s();
  link.latency = TRY(from_proto(in.latency(), "links.latency"));
  link.healthy_megabytes_per_s = in.healthy_megabytes_per_s();
  return link;
}

v1::NodeSpec to_proto(const NodeSpec& spec) {
  v1::NodeSpec out;
  out.set_name(spec.name);
  out.set_instance(spec.instance);
  out.set_boot_id(spec.boot_id);
  out.set_address(spec.address);
  out.set_cpu_milli(spec.cpu_milli);
  out.set_memory(spec.memory.count);
  for (const Device& device : spec.devices) *out.add_devices() = to_proto(device);
  for (const Link& link : spec.links) *out.add_links() = to_proto(link);
  out.mutable_labels()->insert(spec.labels.begin(), spec.labels.end());
  out.set_version(spec.version);
  out.set_image_runtime(spec.image_runtime);
  out.set_image_trouble(spec.image_trouble);
  if (spec.host) *out.mutable_host() = to_proto(*spec.host);
  if (spec.isolation) *out.mutable_isolation() = to_proto(*spec.isolation);
  return out;
}

Result<NodeSpec> from_proto(const v1::NodeSpec& in) {
  NodeSpec spec;
  spec.name = in.name();
  spec.instance = in.instance();
  spec.boot_id = in.boot_id();
  spec.address = in.address();
  spec.cpu_milli = in.cpu_milli();
  spec.memory.count = in.memory();
  for (const v1::Device& device : in.devices()) spec.devices.push_back(from_proto(device));
  for (const v1::Link& link : in.links()) spec.links.push_back(TRY(from_proto(link)));
  spec.labels.insert(in.labels().begin(), in.labels().end());
  spec.version = in.version();
  spec.image_runtime = in.image_runtime();
  spec.image_trouble = in.image_trouble();
  if (in.has_host()) spec.host = TRY(from_proto(in.host()));
  if (in.has_isolation()) spec.isolation = from_proto(in.isolation());
  return spec;
}

}  // namespace keiko
