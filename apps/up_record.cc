// JSON in and out; the reader forgives everything, since a torn file only means a fresh start.
#include "up_record.h"

#include <cstdio>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/id.h"

namespace keiko::up {
namespace {

std::string record_path(const std::string& state_dir) { return state_dir + "/up.json"; }

std::optional<nlohmann::json> read_object(const std::string& path) {
  std::ifstream in(path);
  auto object = nlohmann::json::parse(in, nullptr, false);
  if (!object.is_object()) return {};
  return object;
}

std::string address_text(const nlohmann::json& value) {
  if (value.is_number()) return "127.0.0.1:" + std::to_string(value.get<int64_t>());
  return value.is_string() ? value.get<std::string>() : "";
}

}  // namespace

const NamedProcess* UpRecord::find(const std::string& name) const {
  for (const NamedProcess& process : processes) {
    if (process.name == name) return &process;
  }
  return nullptr;
}

bool UpRecord::lives(const std::string& name) const {
  const NamedProcess* found = find(name);
  return found != nullptr && process::is_alive(found->identity);
}

std::optional<UpRecord> read_up_record(const std::string& state_dir) try {
  const auto object = read_object(record_path(state_dir));
  if (!object) return {};
  UpRecord record;
  record.grpc = object->value("grpc", "");
  record.devices_per_node = object->value("devices_per_node", int64_t{0});
  record.device_memory = object->value("device_memory", "");
  record.ready = object->value("ready", false);
  for (const auto& row : object->value("processes", nlohmann::json::array())) {
    record.processes.push_back({row.at("name").get<std::string>(),
                                {row.at("pid").get<int64_t>(), row.at("start_ticks").get<int64_t>(),
                                 row.at("boot_id").get<std::string>()}});
  }
  return record;
} catch (const nlohmann::json::exception&) {
  return {};
}

Done write_up_record(const std::string& state_dir, const UpRecord& record) {
  nlohmann::json object = {{"grpc", record.grpc}, {"ready", record.ready},
                           {"devices_per_node", record.devices_per_node},
                           {"device_memory", record.device_memory},
                           {"processes", nlohmann::json::array()}};
  for (const NamedProcess& process : record.processes) {
    object["processes"].push_back({{"name", process.name}, {"pid", process.identity.pid},
                                   {"start_ticks", process.identity.start_ticks},
                                   {"boot_id", process.identity.boot_id}});
  }
  const std::string path = record_path(state_dir);
  const std::string half = path + ".new";
  std::ofstream out(half);
  out << object.dump(2) << "\n" << std::flush;
  // A full disk must not cost what the file says now: it is how the pool is found again.
  if (out.good() && std::rename(half.c_str(), path.c_str()) == 0) return done();
  const Error error = errno_error("write " + half, errno);
  std::remove(half.c_str());
  return error;
}

std::optional<ServerAddress> read_server_address(const std::string& state_dir) try {
  const auto object = read_object(state_dir + "/server.json");
  if (!object) return {};
  return ServerAddress{object->at("pid").get<int64_t>(), address_text(object->at("grpc")),
                       address_text(object->at("http"))};
} catch (const nlohmann::json::exception&) {
  return {};
}

int64_t port_of(const std::string& address) {
  uint64_t port = 0;
  const bool read = parse_digits(address.substr(address.rfind(':') + 1), port);
  return read && port < 65536 ? static_cast<int64_t>(port) : 0;
}

}  // namespace keiko::up
