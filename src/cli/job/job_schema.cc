#include "cli/job/job_schema.h"

#include <nlohmann/json.hpp>

#include "cli/job/job_fields.h"

namespace keiko::cli {
namespace {

using Json = nlohmann::ordered_json;

Json text_pattern(const char* pattern) { return {{"type", "string"}, {"pattern", pattern}}; }

/// A size or a span: text with a unit, or a plain 0.
Json with_unit(const char* pattern) {
  return {{"anyOf", {text_pattern(pattern), Json{{"const", 0}}}}};
}

Json mount_schema() {
  const Json path = text_pattern("^/");
  const Json properties = {
      {"source", path}, {"target", path}, {"read_only", {{"type", "boolean"}}}};
  return {{"anyOf",
           {text_pattern("^/[^:]*:/[^:]+(:ro)?$"),
            Json{{"type", "object"},
                 {"additionalProperties", false},
                 {"required", {"source", "target"}},
                 {"properties", properties}}}}};
}

Json type_of(const JobField& field) {
  switch (field.type) {
    case FieldType::kText: return {{"type", "string"}};
    case FieldType::kLabel: return text_pattern("^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$");
    case FieldType::kPath:
      return field.key == "workdir" ? text_pattern("^/") : Json{{"type", "string"}};
    case FieldType::kChoice: return {{"enum", field.choices}};
    case FieldType::kInteger:
      return {{"type", "integer"}, {"minimum", field.low}, {"maximum", field.high}};
    case FieldType::kCores:
      return {{"anyOf", {Json{{"type", "number"}, {"minimum", 0}}, text_pattern("^[0-9.]+m?$")}}};
    case FieldType::kBytes: return with_unit("^(0|[0-9.]+([KMGTP](i?B|i)?|B))$");
    case FieldType::kDuration: return with_unit("^(0|([0-9.]+(ns|us|ms|s|min|m|h|d))+)$");
    case FieldType::kFlag: return {{"type", "boolean"}};
    case FieldType::kCommand:
      return {{"anyOf",
               {Json{{"type", "string"}, {"minLength", 1}},
                Json{{"type", "array"},
                     {"minItems", 1},
                     {"items", {{"type", {"string", "number", "boolean"}}}}}}}};
    case FieldType::kTextMap:
      return {{"type", "object"},
              {"additionalProperties", {{"type", {"string", "number", "boolean"}}}}};
    case FieldType::kMounts: return {{"type", "array"}, {"items", mount_schema()}};
  }
  return Json::object();
}

Json default_of(const JobField& field) {
  const JobSpec fresh;
  const std::string text = field_text(field, fresh);
  if (field.type == FieldType::kInteger) return std::stoll(text);
  if (field.type == FieldType::kFlag) return text == "true";
  if (field.type == FieldType::kCores) return fresh.cpu_milli / 1000;
  return text;
}

bool has_default(const JobField& field) {
  const bool single = field.type != FieldType::kCommand && field.type != FieldType::kTextMap &&
                      field.type != FieldType::kMounts;
  return single && !field_text(field, JobSpec()).empty();
}

Json property_of(const JobField& field) {
  Json property = type_of(field);
  property["description"] = field.help;
  if (has_default(field)) property["default"] = default_of(field);
  return property;
}

Json section_of(const std::string& section) {
  Json properties = Json::object();
  for (const JobField& field : job_fields()) {
    if (field.section == section) properties[field.key] = property_of(field);
  }
  return {{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
}

std::string kind_word(const JobField& field) {
  switch (field.type) {
    case FieldType::kText: return "text";
    case FieldType::kLabel: return "name";
    case FieldType::kPath: return "path";
    case FieldType::kChoice: return join(field.choices, ", ");
    case FieldType::kInteger:
      return std::to_string(field.low) + " to " + std::to_string(field.high);
    case FieldType::kCores: return "cores";
    case FieldType::kBytes: return "size";
    case FieldType::kDuration: return "time";
    case FieldType::kFlag: return "true, false";
    case FieldType::kCommand: return "list or text";
    case FieldType::kTextMap: return "map";
    case FieldType::kMounts: return "list";
  }
  return {};
}

std::string row_of(const JobField& field) {
  std::string row = "| `" + field.key + "` | " + kind_word(field) + " | ";
  row += has_default(field) ? "`" + field_text(field, JobSpec()) + "`" : "–";
  row += " | `" + field.example + "` | `" + field.flag() + "` | " + field.help + " |\n";
  return row;
}

}  // namespace

std::string job_schema() {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                 {"$id", "urn:keiko:schema:job:v1"},
                 {"title", "Keiko job"},
                 {"description", "A job file of Keiko, YAML or JSON: keiko submit FILE"}};
  schema.update(section_of(""));
  schema["type"] = "object";
  for (const std::string& section : job_sections()) {
    Json part = section_of(section);
    part["type"] = {"object", "null"};
    part["description"] = "what each worker needs";
    schema["properties"][section] = part;
  }
  schema["required"] = {"command"};
  return schema.dump(2) + "\n";
}

std::string job_reference() {
  static const std::string kHead =
      "| key | value | default | example | flag | meaning |\n|---|---|---|---|---|---|\n";
  std::string out = "### Top level\n\n" + kHead;
  for (const JobField& field : job_fields()) {
    if (field.section.empty()) out += row_of(field);
  }
  for (const std::string& section : job_sections()) {
    out += "\n### Under `" + section + ":`, for each worker\n\n" + kHead;
    for (const JobField& field : job_fields()) {
      if (field.section == section) out += row_of(field);
    }
  }
  return out;
}

}  // namespace keiko::cli
