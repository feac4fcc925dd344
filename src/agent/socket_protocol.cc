#include "agent/socket_protocol.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace keiko::agent {
namespace {

using nlohmann::json;

/// Reads fields of one object and remembers the first that is wrong.
class FieldScan {
 public:
  explicit FieldScan(const json& object) : object_(object) {}

  /// RETURNS: a whole number from 0 on; 0 if the field is absent or null.
  int64_t count(const char* name) {
    const json* value = find(name);
    if (value == nullptr) return 0;
    if (value->is_number_unsigned() && value->get<uint64_t>() <= uint64_t{INT64_MAX}) {
      return static_cast<int64_t>(value->get<uint64_t>());
    }
    // Languages with one kind of number write 12.0.
    if (value->is_number_float()) {
      const double number = value->get<double>();
      if (number >= 0 && number < 9e18 && number == std::floor(number)) {
        return static_cast<int64_t>(number);
      }
    }
    fail(name, "must be a whole number from 0 on");
    return 0;
  }

  /// RETURNS: a number; 0 if the field is absent or null, which is how JSON writes NaN.
  double number(const char* name) {
    const json* value = find(name);
    if (value == nullptr) return 0;
    if (value->is_number()) return value->get<double>();
    fail(name, "must be a number");
    return 0;
  }

  std::string text(const char* name, size_t limit) {
    const json* value = find(name);
    const std::string* text = value == nullptr ? nullptr : value->get_ptr<const std::string*>();
    if (text != nullptr && !text->empty() && text->size() <= limit) return *text;
    fail(name, "must be a text of 1 to " + std::to_string(limit) + " bytes");
    return {};
  }

  const std::string& wrong() const { return wrong_; }

 private:
  const json* find(const char* name) const {
    const auto at = object_.find(name);
    return at == object_.end() || at->is_null() ? nullptr : &*at;
  }
  void fail(const char* name, const std::string& rule) {
    if (wrong_.empty()) wrong_ = "'" + std::string(name) + "' " + rule;
  }

  const json& object_;
  std::string wrong_;
};

Progress read_progress(FieldScan& scan) {
  Progress progress;
  progress.step = scan.count("step");
  progress.total_steps = scan.count("total_steps");
  progress.loss = scan.number("loss");
  progress.samples = scan.count("samples");
  progress.tokens = scan.count("tokens");
  progress.tokens_per_s = scan.number("tokens_per_s");
  return progress;
}

WorkerLine read_line(const std::string& type, FieldScan& scan) {
  if (type == "hello") return WorkerHello{scan.count("protocol"), scan.count("pid")};
  if (type == "progress") return read_progress(scan);
  if (type == "checkpoint") {
    return CheckpointMark{scan.count("step"), scan.text("ref", kMaxRefBytes)};
  }
  if (type == "ack") return WorkerAck{scan.count("id")};
  return UnknownLine{type};
}

}  // namespace

Result<WorkerLine> parse_worker_line(std::string_view line) {
  if (line.size() > kMaxLineBytes) {
    return invalid_argument("the line is longer than " + std::to_string(kMaxLineBytes) + " bytes");
  }
  const json object = json::parse(line.begin(), line.end(), nullptr, false);
  if (!object.is_object()) return invalid_argument("the line is not a JSON object");
  const auto type = object.find("type");
  if (type == object.end() || !type->is_string()) {
    return invalid_argument("the object has no text \"type\"");
  }
  const std::string& kind = type->get_ref<const std::string&>();
  FieldScan scan(object);
  WorkerLine parsed = read_line(kind, scan);
  if (!scan.wrong().empty()) return invalid_argument(kind + ": " + scan.wrong());
  return parsed;
}

std::string to_line(const WorkerNotice& notice) {
  const json object{{"type", "notice"},
                    {"id", notice.id},
                    {"deadline_ms", notice.deadline.millis()},
                    {"reason", notice.reason}};
  // Words of the server may be any bytes; what is not UTF-8 is replaced, not thrown.
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace keiko::agent
