// Port History: where the server keeps the thinned past of the nodes' metrics.
//
// It is no durable state: what was appended last may be gone after a crash of the machine, and a
// store that is damaged begins anew. Numbers keep 24 bits of precision. For one thread; every verb
// may wait for a disk.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "model/history.h"

namespace keiko {

struct HistoryQuery {
  std::string node;  ///< empty: all
  Duration step;
  WallTime since;    ///< spans that begin in [since, until)
  WallTime until;
};

class History {
 public:
  virtual ~History() = default;

  /// Adds rows; what is there already for the same span and node is merged with them. All or none
  /// of `rows` is there afterwards. RETURNS: kResourceExhausted if the medium is full.
  virtual Done append(const std::vector<HistoryRow>& rows) = 0;

  /// RETURNS: the rows asked for, oldest first, within a span by name of the node.
  virtual Result<std::vector<HistoryRow>> read(const HistoryQuery& query) = 0;

  /// RETURNS: where the oldest span of this step begins; nothing if there is none.
  virtual Result<std::optional<WallTime>> oldest(Duration step) = 0;

  /// Removes the spans of this step that begin before `before`.
  virtual Done remove(Duration step, WallTime before) = 0;

  /// RETURNS: what the rows take; room that was freed for new ones does not count.
  virtual Result<Bytes> size() = 0;
};

}  // namespace keiko
