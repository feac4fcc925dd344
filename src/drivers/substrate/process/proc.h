// Reads processes from /proc. A pid alone names nobody: it comes with its start time and boot.
// Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "drivers/substrate/process/records.h"

namespace keiko::process {

struct ProcessStat {
  int64_t pid = 0;
  int64_t parent = 0;
  int64_t session = 0;
  int64_t start_ticks = 0;
  char state = '?';
  bool dead() const { return state == 'Z' || state == 'X'; }
};

/// RETURNS: nothing if there is no such process.
std::optional<ProcessStat> read_stat(int64_t pid);

/// The same from the text of a stat file; names with blanks and brackets do not confuse it.
std::optional<ProcessStat> parse_stat(const std::string& text);

const std::string& boot_id();

/// RETURNS: the time since some moment of this boot; nobody can set it.
Duration monotonic_now();

/// RETURNS: the identity of a process that lives now; pid 0 if it does not.
ProcessIdentity identify(int64_t pid);

/// RETURNS: whether exactly this process still lives. A zombie does not.
bool is_alive(const ProcessIdentity& identity);

/// RETURNS: all living descendants of `pid`, without it.
std::vector<int64_t> descendants(int64_t pid);

/// RETURNS: every process of the machine that is no zombie.
std::vector<ProcessStat> all_processes();

}  // namespace keiko::process
