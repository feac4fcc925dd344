// How nodes, devices and events look.
#pragma once

#include <string>

#include "cli/console.h"
#include "cli/show/table.h"
#include "keiko/v1/cluster.pb.h"

namespace keiko::cli {

Table nodes_table(const google::protobuf::RepeatedPtrField<v1::Node>& nodes, Time now);
/// How busy and how hot devices are is told with `with_readings`, else with -o wide alone.
Table devices_table(const google::protobuf::RepeatedPtrField<v1::Node>& nodes,
                    bool with_readings = false);

/// All about one node, for a person.
std::string node_page(const v1::Node& node, const Console& console);

/// One line without its end: "07:06:53  job_placed      j12  on node1,node2".
std::string event_line(const v1::Event& event, const Console& console);

}  // namespace keiko::cli
