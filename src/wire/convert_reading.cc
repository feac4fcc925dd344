// Readings by name to the contract's fields. A field is filled by its own name, so a new one in
// node.proto needs nothing here.
#include <cmath>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "wire/convert.h"

namespace keiko {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// Above any true reading and within 64 bits.
constexpr double kMost = 9e18;
/// Its bits are reasons, so that a mean of it says nothing.
constexpr const char* kThrottleMask = "throttle_reasons";

bool is_true(double value) { return std::isfinite(value) && value >= 0 && value < kMost; }

void fill(const Values& values, Message& out) {
  for (int i = 0; i < out.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = out.GetDescriptor()->field(i);
    const auto value = values.find(field->name());
    if (value == values.end() || !is_true(value->second)) continue;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
      out.GetReflection()->SetDouble(&out, field, value->second);
    } else {
      out.GetReflection()->SetInt64(&out, field, static_cast<int64_t>(value->second));
    }
  }
}

Values values_of(const Message& message) {
  Values values;
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    if (!message.GetReflection()->HasField(message, field)) continue;
    if (field->name() == kThrottleMask) continue;
    const double value =
        field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE
            ? message.GetReflection()->GetDouble(message, field)
            : static_cast<double>(message.GetReflection()->GetInt64(message, field));
    if (is_true(value)) values[field->name()] = value;
  }
  return values;
}

void clean_fields(Message& message) {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    if (!message.GetReflection()->HasField(message, field)) continue;
    const bool fine =
        field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE
            ? is_true(message.GetReflection()->GetDouble(message, field))
            : message.GetReflection()->GetInt64(message, field) >= 0;
    if (!fine) message.GetReflection()->ClearField(&message, field);
  }
}

}  // namespace

v1::ReadingReport to_proto(const std::vector<Reading>& readings) {
  v1::ReadingReport out;
  for (const Reading& reading : readings) {
    if (reading.subject.kind == SubjectKind::kNode) fill(reading.values, *out.mutable_node());
    if (reading.subject.kind != SubjectKind::kDevice) continue;
    fill(reading.values, (*out.mutable_devices())[reading.subject.id]);
  }
  return out;
}

std::vector<Reading> quantities(const v1::ReadingReport& report) {
  std::vector<Reading> out;
  if (report.has_node()) out.push_back({{SubjectKind::kNode, ""}, values_of(report.node())});
  for (const auto& [uuid, device] : report.devices()) {
    out.push_back({{SubjectKind::kDevice, uuid}, values_of(device)});
  }
  return out;
}

void clean(v1::ReadingReport& report) {
  if (report.has_node()) clean_fields(*report.mutable_node());
  for (auto& [uuid, device] : *report.mutable_devices()) clean_fields(device);
}

}  // namespace keiko
