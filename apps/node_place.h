// Where a node stands: zone and rack as labels, from a file of the whole pool or from a program
// that asks the network (LLDP, the subnet manager of InfiniBand).
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace keiko::apps {

/// Adds "rack=r7" to the labels. RETURNS: false if `text` is not KEY=VALUE.
bool add_label(const std::string& text, std::map<std::string, std::string>& labels);

/// `source` is a file as cli/place/place_file.h describes it, or, if it may be executed, a program
/// that is run without a shell as `source NODE` and prints a line KEY=VALUE for each label within
/// 10 s. RETURNS: the labels, none for a node that the file does not name. kInvalidArgument with
/// what is wrong; kDeadlineExceeded and kFailedPrecondition for a program that hangs or fails.
Result<std::map<std::string, std::string>> labels_of_place(const std::string& source,
                                                           const std::string& node);

}  // namespace keiko::apps
