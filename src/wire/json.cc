// A JSON writer over protobuf's reflection; reading is protobuf's own.
#include "wire/json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/time_util.h>

#include <charconv>
#include <cmath>

#include "base/text.h"
#include "keiko/v1/cluster.pb.h"
#include "wire/base64.h"

namespace keiko {
namespace {

namespace pb = google::protobuf;
using Field = pb::FieldDescriptor;

constexpr int64_t kMaxExact = int64_t{1} << 53;  // what every JSON reader's double holds

class JsonWriter {
 public:
  explicit JsonWriter(bool pretty) : pretty_(pretty) {}

  void write(const pb::Message& message) {
    if (message.GetDescriptor()->full_name() == "google.protobuf.Duration") {
      pb::Duration duration;
      duration.CopyFrom(message);
      out_ += '"' + pb::util::TimeUtil::ToString(duration) + '"';
    } else if (message.GetDescriptor()->full_name() == "google.protobuf.Timestamp") {
      pb::Timestamp time;
      time.CopyFrom(message);
      out_ += '"' + pb::util::TimeUtil::ToString(time) + '"';
    } else {
      write_fields(message);
    }
  }

  std::string take() { return std::move(out_); }

 private:
  void write_fields(const pb::Message& message) {
    const pb::Descriptor& type = *message.GetDescriptor();
    const pb::Reflection& reflection = *message.GetReflection();
    open('{');
    for (int i = 0; i < type.field_count(); ++i) {
      const Field& field = *type.field(i);
      if (field.has_presence() && !reflection.HasField(message, &field)) continue;
      next();
      key(field.name());
      if (field.is_map()) {
        write_map(message, field);
      } else if (field.is_repeated()) {
        write_list(message, field);
      } else {
        write_single(message, field);
      }
    }
    close('}');
  }

  void write_map(const pb::Message& message, const Field& field) {
    // The contract's maps go from string to string.
    std::map<std::string, std::string> sorted;
    const pb::Reflection& reflection = *message.GetReflection();
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      const pb::Message& entry = reflection.GetRepeatedMessage(message, &field, i);
      const pb::Descriptor& type = *entry.GetDescriptor();
      sorted[entry.GetReflection()->GetString(entry, type.map_key())] =
          entry.GetReflection()->GetString(entry, type.map_value());
    }
    open('{');
    for (const auto& [name, value] : sorted) {
      next();
      key(name);
      out_ += quote_text(value);
    }
    close('}');
  }

  void write_list(const pb::Message& message, const Field& field) {
    const pb::Reflection& reflection = *message.GetReflection();
    open('[');
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      next();
      switch (field.cpp_type()) {
        case Field::CPPTYPE_MESSAGE:
          write(reflection.GetRepeatedMessage(message, &field, i));
          break;
        case Field::CPPTYPE_STRING:
          out_ += quote_text(reflection.GetRepeatedString(message, &field, i));
          break;
        case Field::CPPTYPE_INT32: integer(reflection.GetRepeatedInt32(message, &field, i)); break;
        default: check_failed(__FILE__, __LINE__, "the contract has a list this writer lacks");
      }
    }
    close(']');
  }

  void write_single(const pb::Message& message, const Field& field) {
    const pb::Reflection& reflection = *message.GetReflection();
    switch (field.cpp_type()) {
      case Field::CPPTYPE_MESSAGE: write(reflection.GetMessage(message, &field)); break;
      case Field::CPPTYPE_STRING: {
        const std::string text = reflection.GetString(message, &field);
        out_ += field.type() == Field::TYPE_BYTES ? '"' + to_base64(text) + '"' : quote_text(text);
        break;
      }
      case Field::CPPTYPE_BOOL:
        out_ += reflection.GetBool(message, &field) ? "true" : "false";
        break;
      case Field::CPPTYPE_INT32: integer(reflection.GetInt32(message, &field)); break;
      case Field::CPPTYPE_INT64: integer(reflection.GetInt64(message, &field)); break;
      case Field::CPPTYPE_UINT64: natural(reflection.GetUInt64(message, &field)); break;
      case Field::CPPTYPE_DOUBLE: real(reflection.GetDouble(message, &field)); break;
      default: check_failed(__FILE__, __LINE__, "the contract has a type this writer lacks");
    }
  }

  void integer(int64_t value) {
    const bool exact = value >= -kMaxExact && value <= kMaxExact;
    out_ += exact ? std::to_string(value) : '"' + std::to_string(value) + '"';
  }

  void natural(uint64_t value) {
    const bool exact = value <= static_cast<uint64_t>(kMaxExact);
    out_ += exact ? std::to_string(value) : '"' + std::to_string(value) + '"';
  }

  void real(double value) {
    if (std::isnan(value)) {
      out_ += "\"NaN\"";
    } else if (std::isinf(value)) {
      out_ += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    } else {
      char digits[32];
      const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
      out_.append(digits, end);
    }
  }

  void open(char bracket) {
    out_ += bracket;
    ++depth_;
    first_ = true;
  }

  void close(char bracket) {
    --depth_;
    if (!first_) line();
    out_ += bracket;
    first_ = false;
  }

  void next() {
    if (!first_) out_ += ',';
    first_ = false;
    line();
  }

  void line() {
    if (!pretty_) return;
    out_ += '\n';
    out_.append(static_cast<size_t>(depth_) * 2, ' ');
  }

  void key(const std::string& name) { out_ += quote_text(name) + (pretty_ ? ": " : ":"); }

  const bool pretty_;
  std::string out_;
  int depth_ = 0;
  bool first_ = true;
};

}  // namespace

std::string to_json(const google::protobuf::Message& message, bool pretty) {
  JsonWriter writer(pretty);
  writer.write(message);
  return writer.take();
}

Done from_json(std::string_view json, google::protobuf::Message& message) {
  pb::util::JsonParseOptions options;
  options.ignore_unknown_fields = false;
  const auto status =
      pb::util::JsonStringToMessage({json.data(), json.size()}, &message, options);
  if (status.ok()) return done();
  return invalid_argument("the body is not the JSON of a " + message.GetDescriptor()->name() +
                              ": " + std::string(status.message()),
                          "body");
}

}  // namespace keiko
