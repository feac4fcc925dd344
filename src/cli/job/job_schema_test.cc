// The published schema, docs/jobs.md and examples/jobs agree with what is read.
#include "cli/job/job_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "cli/job/job_fields.h"
#include "cli/job/job_file.h"
#include "cli/job/random_job.h"
#include "cli/repository.h"

namespace keiko::cli {
namespace {

using Json = nlohmann::json;

/// The part of JSON Schema that job_schema() uses, held against a YAML node.
class SchemaReader {
 public:
  bool accepts(const Json& schema, const YamlNode& node) const {
    if (schema.contains("anyOf")) {
      for (const Json& option : schema["anyOf"]) {
        if (accepts(option, node)) return true;
      }
      return false;
    }
    if (schema.contains("const")) return !node.quoted && node.text == schema["const"].dump();
    if (schema.contains("enum")) {
      for (const Json& word : schema["enum"]) {
        if (word == node.text) return true;
      }
      return false;
    }
    return has_type(schema, node) && in_bounds(schema, node) && children(schema, node);
  }

 private:
  static std::string type_name(const YamlNode& node) {
    if (node.kind == YamlKind::kMap) return "object";
    if (node.kind == YamlKind::kList) return "array";
    if (node.kind == YamlKind::kNull) return "null";
    if (node.quoted) return "string";
    if (node.text == "true" || node.text == "false") return "boolean";
    static const std::regex integer("[-+]?[0-9]+");
    static const std::regex number("[-+]?[0-9]*\\.?[0-9]+(e[-+]?[0-9]+)?");
    if (std::regex_match(node.text, integer)) return "integer";
    if (std::regex_match(node.text, number)) return "number";
    return "string";
  }

  static bool has_type(const Json& schema, const YamlNode& node) {
    const std::string is = type_name(node);
    const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
    for (const Json& type : types) {
      if (type == is || (type == "number" && is == "integer")) return true;
    }
    return false;
  }

  static bool in_bounds(const Json& schema, const YamlNode& node) {
    if (schema.contains("pattern") &&
        !std::regex_search(node.text, std::regex(schema["pattern"].get<std::string>()))) {
      return false;
    }
    if (schema.contains("minimum") && std::stod(node.text) < schema["minimum"].get<double>())
      return false;
    return !schema.contains("maximum") || std::stod(node.text) <= schema["maximum"].get<double>();
  }

  bool children(const Json& schema, const YamlNode& node) const {
    for (const YamlNode& item : node.items) {
      if (!accepts(schema["items"], item)) return false;
    }
    for (const auto& [key, value] : node.entries) {
      const bool known = schema.contains("properties") && schema["properties"].contains(key.text);
      const Json& part = known ? schema["properties"][key.text] : schema["additionalProperties"];
      if (part.is_boolean() ? !part.get<bool>() : !accepts(part, value)) return false;
    }
    return true;
  }
};

bool schema_accepts(const std::string& text) {
  return SchemaReader().accepts(Json::parse(job_schema()), read_yaml(text).root);
}

TEST(JobSchema, has_the_keys_of_a_job_file_and_no_others) {
  const Json schema = Json::parse(job_schema());
  EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  EXPECT_EQ(schema["additionalProperties"], false);
  size_t keys = 0;
  for (const auto& [key, property] : schema["properties"].items()) {
    if (key == "resources") {
      for (const auto& [inner, value] : property["properties"].items()) {
        EXPECT_NE(find_job_field("resources", inner), nullptr) << inner;
        ++keys;
      }
    } else {
      EXPECT_NE(find_job_field("", key), nullptr) << key;
      ++keys;
    }
  }
  EXPECT_EQ(keys, job_fields().size());
}

TEST(JobSchema, accepts_what_is_written_for_any_job) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const std::string yaml = job_to_yaml(random_job(seed));
    EXPECT_TRUE(schema_accepts(yaml)) << yaml;
  }
}

TEST(JobSchema, refuses_what_a_job_file_refuses) {
  for (const char* text :
       {"command: [a]\nwrokers: 2", "command: [a]\nworkers: many", "command: [a]\nworkers: 0",
        "command: [a]\nresources: {memory: 16}", "command: [a]\ngrace: 30 parsecs",
        "command: [a]\nkind: trian", "command: [a]\nname: Bad_Name"}) {
    EXPECT_FALSE(read_job(text).problems.empty()) << text;
    EXPECT_FALSE(schema_accepts(text)) << text;
  }
}

TEST(JobSchema, every_example_reads_and_fits_the_schema) {
  size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(repository_root() / "examples" / "jobs")) {
    if (entry.path().extension() != ".yaml") continue;
    ++count;
    const std::string text =
        read_repository_file("examples/jobs/" + entry.path().filename().string());
    const JobReading reading = read_job(text);
    EXPECT_TRUE(reading.problems.empty()) << problems_text(entry.path().string(), reading.problems);
    EXPECT_TRUE(schema_accepts(text)) << entry.path();
  }
  EXPECT_GE(count, 4U);
}

TEST(JobReference, is_the_one_in_the_documents) {
  EXPECT_EQ(generated_part("docs/jobs.md", "job keys", job_reference()), job_reference())
      << "docs/jobs.md is stale; run: KEIKO_UPDATE=1 test_cli --gtest_filter=JobReference.*";
}

TEST(JobReference, every_example_value_reads_back) {
  for (const JobField& field : job_fields()) {
    const std::string line = field.key + ": " + field.example + "\n";
    const std::string text =
        std::string(field.key == "command" ? "" : "command: [a]\n") +
        (field.key == "mounts" ? "image: /image\n" : "") +
        (field.section.empty()
             ? line
             : "resources:\n  " + line + (field.key == "devices" ? "" : "  devices: 1\n"));
    EXPECT_EQ(problems_text("", read_job(text).problems), "") << text;
  }
}

}  // namespace
}  // namespace keiko::cli
