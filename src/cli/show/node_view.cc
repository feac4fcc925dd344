#include "cli/show/node_view.h"

#include <cmath>
#include <cstdio>
#include <set>

#include "base/text.h"
#include "cli/show/job_view.h"
#include "wire/convert.h"

namespace keiko::cli {
namespace {

std::string kinds_of(const v1::Node& node) {
  std::set<std::string> kinds;
  for (const v1::Device& device : node.devices()) kinds.insert(device.kind());
  return join({kinds.begin(), kinds.end()}, ",");
}

std::string cores_text(int64_t milli) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", static_cast<double>(milli) / 1000);
  return text;
}

std::string labels_text(const v1::Node& node) {
  const std::map<std::string, std::string> sorted(node.labels().begin(), node.labels().end());
  std::string out;
  for (const auto& [key, value] : sorted) out += (out.empty() ? "" : ",") + key + "=" + value;
  return out;
}

std::string heard_text(const v1::Node& node) {
  if (!node.has_last_heard()) return "";
  const Result<Duration> span = from_proto(node.last_heard(), "last_heard");
  return span.ok() ? to_text(*span) : "";
}

std::string rounded(double value) { return std::to_string(std::llround(value)); }

std::string percent_text(double ratio) { return rounded(ratio * 100) + "%"; }

/// "650/700W": draw and limit, as far as they are known.
std::string power_text(const v1::DeviceReading& reading) {
  if (!reading.has_power_watts()) return "";
  return rounded(reading.power_watts()) +
         (reading.has_power_limit_watts() ? "/" + rounded(reading.power_limit_watts()) : "") + "W";
}

/// How busy the machine is now, behind what jobs have taken of it.
std::string cpu_now(const v1::Node& node) {
  if (!node.reading().has_cpu_utilisation_ratio()) return "";
  return ", " + percent_text(node.reading().cpu_utilisation_ratio()) + " busy";
}

std::string memory_now(const v1::Node& node) {
  if (!node.reading().has_memory_available_bytes()) return "";
  return ", " + to_text(Bytes{node.reading().memory_available_bytes()}) + " available";
}

std::string share(int64_t taken, int64_t all) {
  return std::to_string(taken) + "/" + std::to_string(all);
}

/// "hybrid", or with what nothing holds workers to: "none, free: cpu,devices".
std::string isolation_text(const v1::Node& node) {
  std::vector<std::string> free;
  for (const v1::Guard& guard : node.isolation().guards()) {
    if (guard.by().empty()) free.push_back(guard.name());
  }
  return node.isolation().cgroups() + (free.empty() ? "" : ", free: " + join(free, ","));
}

/// What holds workers to their share of the node, and why not where nothing does.
std::string isolation_section(const v1::Node& node, const Console& console) {
  Table table{{{"GUARD"}, {"HELD BY"}, {"WHY NOT", false, false, true}}, {}};
  for (const v1::Guard& guard : node.isolation().guards()) {
    table.rows.push_back({guard.name(),
                          guard.by().empty() ? Cell("nothing", Colour::kYellow) : Cell(guard.by()),
                          guard.why_not()});
  }
  return "\n" + console.paint(Colour::kBold, "Isolation") + "  cgroups: " +
         printable(node.isolation().cgroups()) + "\n" + table_text(table, {}, console);
}

/// "cordoned" beside a status that says something more urgent.
std::string status_text(const v1::Node& node) {
  const bool also_cordoned =
      node.cordoned() && node.status() != "CORDONED" && node.status() != "DRAINING";
  return node.status() + (also_cordoned ? ",CORDONED" : "");
}

}  // namespace

Table nodes_table(const google::protobuf::RepeatedPtrField<v1::Node>& nodes, Time now) {
  Table table{{{"NODE"},
               {"STATUS"},
               {"DEVICES", true},
               {"KIND", false, false, true},
               {"CPU", true},
               {"MEMORY", true},
               {"WORKERS", true},
               {"AGE", true},
               {"ID", false, true},
               {"ADDRESS", false, true},
               {"HEARD", true, true},
               {"VERSION", false, true},
               {"ISOLATION", false, true},
               {"IMAGES", false, true},
               {"LABELS", false, true, true},
               {"WHY", false, false, true}},
              {}};
  for (const v1::Node& node : nodes) {
    table.rows.push_back(
        {node.name(), Cell(status_text(node), colour_of_status(node.status())),
         share(node.devices_taken(), node.devices_size()), kinds_of(node),
         cores_text(node.cpu_taken_milli()) + "/" + cores_text(node.cpu_milli()),
         to_text(Bytes{node.memory()}), std::to_string(node.worker_count()),
         age_of(node.joined_at(), now), node.id(), node.address(), heard_text(node), node.version(),
         isolation_text(node), node.image_runtime().empty() ? "no" : node.image_runtime(),
         labels_text(node), node.duty_why()});
  }
  return table;
}

Table devices_table(const google::protobuf::RepeatedPtrField<v1::Node>& nodes,
                    bool with_readings) {
  Table table{{{"DEVICE"},
               {"KIND"},
               {"MEMORY", true},
               {"NODE STATUS"},
               {"WORKER"},
               {"BUSY", true, !with_readings},
               {"USED", true, !with_readings},
               {"TEMP", true, !with_readings},
               {"POWER", true, !with_readings},
               {"VENDOR", false, true},
               {"NUMA", true, true},
               {"PCI", false, true},
               {"UUID", false, true, true}},
              {}};
  for (const v1::Node& node : nodes) {
    for (const v1::Device& device : node.devices()) {
      const v1::DeviceReading& reading = device.reading();
      table.rows.push_back(
          {node.name() + "/" + std::to_string(device.index()), device.kind(),
           to_text(Bytes{device.memory()}),
           Cell(status_text(node), colour_of_status(node.status())),
           Cell(device.worker(), Colour::kCyan),
           reading.has_utilisation_ratio() ? percent_text(reading.utilisation_ratio()) : "",
           reading.has_memory_used_bytes() ? to_text(Bytes{reading.memory_used_bytes()}) : "",
           reading.has_temperature_celsius() ? rounded(reading.temperature_celsius()) + "C" : "",
           power_text(reading), device.vendor(), std::to_string(device.numa_node()),
           device.pci_address(), device.uuid()});
    }
  }
  return table;
}

std::string node_page(const v1::Node& node, const Console& console) {
  std::string out;
  const auto field = [&](const std::string& name, const std::string& value,
                         Colour colour = Colour::kPlain) {
    if (value.empty()) return;
    out += console.paint(Colour::kDim, name + std::string(12 - name.size(), ' ')) +
           console.paint(colour, printable(value)) + "\n";
  };
  field("Node", node.name() + "  " + node.id(), Colour::kBold);
  field("Status", status_text(node) + (node.duty_why().empty() ? "" : " (" + node.duty_why() + ")"),
        colour_of_status(node.status()));
  field("Heard", heard_text(node).empty() ? "" : heard_text(node) + " ago");
  field("Address", node.address());
  field("Agent", node.version() + (node.connected() ? ", connected" : ", not connected"));
  field("Images", node.image_runtime().empty() ? "none: " + node.image_trouble()
                                               : "run by " + node.image_runtime());
  field("Joined", clock_text(node.joined_at()));
  field("Lost", node.lost() ? clock_text(node.lost_at()) : "");
  field("CPU",
        cores_text(node.cpu_taken_milli()) + " of " + cores_text(node.cpu_milli()) + " taken" +
            cpu_now(node));
  field("Memory",
        to_text(Bytes{node.memory_taken()}) + " of " + to_text(Bytes{node.memory()}) + " taken" +
            memory_now(node));
  field("Labels", labels_text(node));
  if (!node.devices().empty()) {
    google::protobuf::RepeatedPtrField<v1::Node> alone;
    *alone.Add() = node;
    out += "\n" + console.paint(Colour::kBold, "Devices") + "\n" +
           table_text(devices_table(alone, true), {}, console);
  }
  if (node.has_isolation()) out += isolation_section(node, console);
  if (!node.links().empty()) {
    Table links{{{"LINK"}, {"KIND"}, {"MB/S", true}, {"LATENCY", true}}, {}};
    for (const v1::Link& link : node.links()) {
      const Result<Duration> latency = from_proto(link.latency(), "latency");
      links.rows.push_back({std::to_string(link.first()) + "-" + std::to_string(link.second()),
                            link.kind(), grouped(link.megabytes_per_s()),
                            latency.ok() && latency->ns > 0 ? to_text(*latency) : ""});
    }
    out += "\n" + console.paint(Colour::kBold, "Links") + "\n" + table_text(links, {}, console);
  }
  return out;
}

std::string event_line(const v1::Event& event, const Console& console) {
  const auto padded = [](const std::string& text, size_t width) {
    const size_t used = display_width(text);
    return used < width ? text + std::string(width - used, ' ') : text;
  };
  std::string line = console.paint(Colour::kDim, clock_text(event.at())) + "  ";
  line += console.paint(Colour::kBold, padded(printable(event.name()), 20)) + "  ";
  line += padded(printable(!event.job().empty() ? event.job() : event.node()), 6) + "  ";
  return line + printable(event.text());
}

}  // namespace keiko::cli
