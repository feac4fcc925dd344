// For tests: where the sources are, to hold documents and examples against the code.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace keiko::cli {

inline std::filesystem::path repository_root() {
  return std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
}

inline std::string read_repository_file(const std::string& path) {
  std::ifstream in(repository_root() / path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// RETURNS: the text of `path` between "<!-- generated: name -->" and "<!-- end -->". With
/// KEIKO_UPDATE set, `wanted` is written there first.
inline std::string generated_part(const std::string& path, const std::string& name,
                                  const std::string& wanted) {
  std::string text = read_repository_file(path);
  const std::string start = "<!-- generated: " + name + " -->\n\n";
  const size_t from = text.find(start);
  if (from == std::string::npos) return "no part '" + name + "' in " + path;
  const size_t begin = from + start.size();
  const size_t end = text.find("\n<!-- end -->", begin);
  if (std::getenv("KEIKO_UPDATE") != nullptr) {
    text.replace(begin, end - begin, wanted);
    std::ofstream(repository_root() / path, std::ios::binary) << text;
    return wanted;
  }
  return text.substr(begin, end - begin);
}

}  // namespace keiko::cli
