// Health for people: what is ill, whose turn it is, and the story of each incident.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <string>

#include "base/time.h"
#include "cli/show/table.h"
#include "keiko/v1/node.pb.h"

namespace keiko::cli {

/// A row for each subject that is ill or on probation, the gravest first.
Table health_table(const google::protobuf::RepeatedPtrField<v1::Node>& nodes, Time now);

/// RETURNS: a sentence on the nodes that do not answer, and so cannot be judged; empty if all do.
std::string silence_text(const google::protobuf::RepeatedPtrField<v1::Node>& nodes);

/// A row for each subject with incidents that have not faded, the worst first: how many were opened
/// within the last week, and the cause of the last one.
Table lemons_table(const google::protobuf::RepeatedPtrField<v1::Node>& nodes, Time now);

/// A row for each incident, the latest first.
Table incidents_table(const google::protobuf::RepeatedPtrField<v1::Node>& nodes, Time now);

/// RETURNS: "device GPU-1 of n1: unhealthy since ...", with what was seen and done, for each
/// subject of the node; one line if all is well.
std::string health_page(const v1::Node& node, const Console& console);

}  // namespace keiko::cli
