#include "drivers/images/store/image_json.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace keiko::images {
namespace {

using Json = nlohmann::json;

Error no_image(const std::string& what) {
  return failed_precondition("it is no image that can be read: " + what);
}

Result<Json> parse(const std::string& text, const std::string& what) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return no_image(what + " is no JSON");
  return json;
}

std::string text_of(const Json& json, const char* key) {
  if (!json.is_object()) return {};
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const Json& list_of(const Json& json, const char* key) {
  static const Json none = Json::array();
  if (!json.is_object()) return none;
  const auto found = json.find(key);
  return found != json.end() && found->is_array() ? *found : none;
}

const Json& object_of(const Json& json, const char* key) {
  static const Json none = Json::object();
  if (!json.is_object()) return none;
  const auto found = json.find(key);
  return found != json.end() && found->is_object() ? *found : none;
}

/// "sha256:<64 digits>". RETURNS: the digits.
Result<std::string> digits_of(const std::string& digest) {
  const bool known = digest.starts_with("sha256:") && digest.size() == 7 + 64;
  if (!known || digest.find_first_not_of("0123456789abcdef", 7) != std::string::npos) {
    return no_image(quote_text(digest) + " is no sha256 digest");
  }
  return digest.substr(7);
}

bool is_index(const Json& entry) {
  const std::string type = text_of(entry, "mediaType");
  return type.find("index") != std::string::npos ||
         type.find("manifest.list") != std::string::npos;
}

bool is_for_this_machine(const Json& entry) {
  const Json& platform = object_of(entry, "platform");
  return text_of(platform, "architecture") == machine_word() && text_of(platform, "os") == "linux";
}

}  // namespace

const char* machine_word() {
#if defined(__x86_64__)
  return "amd64";
#elif defined(__aarch64__)
  return "arm64";
#else
  return "unknown";
#endif
}

Result<std::string> choose_manifest(const std::string& text, bool& nested) {
  const Json json = TRY(parse(text, "its index"));
  const Json& entries = list_of(json, "manifests");
  const Json* chosen = entries.size() == 1 ? &entries[0] : nullptr;
  for (const Json& entry : entries) {
    if (chosen == nullptr && is_for_this_machine(entry)) chosen = &entry;
  }
  if (chosen == nullptr) {
    return no_image("none of the " + std::to_string(entries.size()) +
                    " images in it says that it is for " + machine_word() + " machines");
  }
  nested = is_index(*chosen);
  return digits_of(text_of(*chosen, "digest"));
}

Result<Manifest> read_manifest(const std::string& text) {
  const Json json = TRY(parse(text, "its manifest"));
  Manifest manifest;
  manifest.config = TRY(digits_of(text_of(object_of(json, "config"), "digest")));
  for (const Json& layer : list_of(json, "layers")) {
    manifest.layers.push_back(TRY(digits_of(text_of(layer, "digest"))));
  }
  if (manifest.layers.empty()) return no_image("its manifest names no layer");
  return manifest;
}

Result<Manifest> read_docker_manifest(const std::string& text) {
  const Json json = TRY(parse(text, "manifest.json"));
  if (!json.is_array() || json.size() != 1) {
    return no_image("manifest.json must tell of one image, and this tells of " +
                    std::to_string(json.is_array() ? json.size() : 0));
  }
  Manifest manifest;
  manifest.config = text_of(json[0], "Config");
  for (const Json& layer : list_of(json[0], "Layers")) {
    if (layer.is_string()) manifest.layers.push_back(layer.get<std::string>());
  }
  if (manifest.config.empty() || manifest.layers.empty()) {
    return no_image("manifest.json names no config or no layer");
  }
  return manifest;
}

Result<ImageConfig> read_config(const std::string& text) {
  const Json json = TRY(parse(text, "its config"));
  const std::string machine = text_of(json, "architecture");
  if (!machine.empty() && machine != machine_word()) {
    return failed_precondition("it is for " + machine + " machines, and this one is " +
                               machine_word());
  }
  ImageConfig config;
  for (const Json& line : list_of(object_of(json, "config"), "Env")) {
    const std::string pair = line.is_string() ? line.get<std::string>() : std::string();
    const size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0 || pair.find('\0') != std::string::npos) {
      continue;
    }
    config.env[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  for (const Json& digest : list_of(object_of(json, "rootfs"), "diff_ids")) {
    const std::string word = digest.is_string() ? digest.get<std::string>() : std::string();
    config.diff_ids.push_back(TRY(digits_of(word)));
  }
  return config;
}

}  // namespace keiko::images
