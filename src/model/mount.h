// A folder or file of the node that a worker in an image finds at a path of its own.
#pragma once

#include <string>
#include <string_view>

#include "base/fields.h"

namespace keiko {

struct Mount {
  std::string source;      ///< on the node; absolute
  std::string target;      ///< inside the image; absolute
  bool read_only = false;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "source", s.source);
    v(2, "target", s.target);
    v(3, "read_only", s.read_only);
  }
  friend bool operator==(const Mount&, const Mount&) = default;
};

std::string to_text(const Mount& mount);  ///< "/data:/in:ro"

/// RETURNS: what "SOURCE:TARGET" or "SOURCE:TARGET:ro" means, kInvalidArgument for anything else.
Result<Mount> parse_mount(std::string_view text);

/// RETURNS: whether `path` is absolute and has neither "." nor ".." nor an empty step in it.
bool is_plain_path(std::string_view path);

}  // namespace keiko
