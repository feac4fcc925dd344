// Whether a node's disk has too little room to start anything. Pure.
#pragma once

#include <string>

#include "base/bytes.h"

namespace keiko::health {

/// Of the file system that holds the agent's state folder, in its workers' logs and folders.
struct DiskRoom {
  Bytes left;    ///< for us
  Bytes total;
};

/// Once it is low it has to have half as much again as the floor: a node that is cleared file by
/// file, or filled by its own next worker, does not come and go.
/// RETURNS: whether it is low; never for `floor` 0, nor for a disk below sixteen times the floor,
/// which was made small on purpose.
bool is_disk_low(const DiskRoom& room, Bytes floor, bool was_low);

/// "12MiB of 1GiB are free at /var/lib/keiko, less than 64MiB; make room there".
std::string low_disk_text(const DiskRoom& room, Bytes floor, const std::string& place);

}  // namespace keiko::health
