// The place file: which node stands in which zone and rack, one file for all machines of a pool.
//
//   zones:
//     a:
//       racks:
//         r1: [head, "gpu[01-16]"]
//         r2: ["gpu[17-32,40]"]
//
// `racks:` may also stand at the top, where there are no zones. Numbers in brackets are ranges; a
// range whose first number begins with 0 has names of that width.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/job/yaml_tree.h"

namespace keiko::cli {

struct PlaceReading {
  std::map<std::string, std::string> labels;  ///< "zone", "rack"; empty: the node is not in it
  std::vector<Problem> problems;              ///< of the whole file, not of this node alone
};

/// RETURNS: where `node` stands. A node that stands in two places is a problem.
PlaceReading read_place(std::string_view text, const std::string& node);

/// Reads a file. RETURNS: kNotFound if it cannot be read, kInvalidArgument with all its problems,
/// each a line that begins with the file, line and column.
Result<std::map<std::string, std::string>> load_place_file(const std::string& path,
                                                           const std::string& node);

}  // namespace keiko::cli
