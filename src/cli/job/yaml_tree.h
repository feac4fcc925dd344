// A YAML document as a small tree that remembers where each node stands in its file.
//
// yaml-cpp reads, this file guards: the text is at most kMaxYamlBytes, collections nest at most
// kMaxYamlDepth deep, and a document with all its aliases written out may hold no more than
// kMaxYamlNodes nodes and kMaxYamlBytes of text. So neither a huge, nor a deep, nor a cyclic
// document, nor one that doubles itself by anchors, costs more than its own size. yaml-cpp is
// included in the .cc alone and its exceptions end there. JSON is YAML, so JSON is read as well.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace keiko::cli {

inline constexpr size_t kMaxYamlBytes = 256 * 1024;
inline constexpr size_t kMaxYamlNodes = 50'000;
inline constexpr int kMaxYamlDepth = 32;

/// A place in a document, counted from 1; 0 means the document as a whole.
struct Mark {
  int line = 0;
  int column = 0;
  friend auto operator<=>(const Mark&, const Mark&) = default;
};

enum class YamlKind { kNull, kScalar, kList, kMap };

struct YamlEntry;

/// One node. Aliases are copies of what they stand for, marked where the alias stands.
struct YamlNode {
  YamlKind kind = YamlKind::kNull;
  Mark mark;
  bool quoted = false;             ///< a scalar in quotes is text, whatever it looks like
  std::string text;                ///< of a scalar
  std::vector<YamlNode> items;     ///< of a list
  std::vector<YamlEntry> entries;  ///< of a map, in the file's order
};

struct YamlEntry {
  YamlNode key;
  YamlNode value;
};

/// Something wrong with a document, and where.
struct Problem {
  Mark mark;
  std::string message;
  friend bool operator==(const Problem&, const Problem&) = default;
};

/// A document, or the problem that kept it from being read.
struct YamlReading {
  YamlNode root;
  std::vector<Problem> problems;
};

/// Reads one document. A second document in the same text is a problem.
YamlReading read_yaml(std::string_view text);

/// RETURNS: "a list", "text 'x'", ... for messages; long text is cut.
std::string describe(const YamlNode& node);

/// RETURNS: `text` as a YAML scalar, in double quotes if it would not be read back as this text.
std::string yaml_scalar(std::string_view text);

}  // namespace keiko::cli
