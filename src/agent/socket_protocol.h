// The worker socket's language: one JSON object a line, its "type" first among equals.
//
// Up: hello{protocol,pid}, progress{step,total_steps,loss,samples,tokens,tokens_per_s},
// checkpoint{step,ref}, ack{id}. Down: notice{id,deadline_ms,reason}. Kinds and fields that this
// version does not know are passed over, so that programs may be newer than their agent. Pure
// functions: text in, structs out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "base/time.h"
#include "model/worker.h"

namespace keiko::agent {

/// Longest line either side may send, its newline not counted.
inline constexpr size_t kMaxLineBytes = 64 * 1024;
/// Longest checkpoint reference: a path, and room to spare.
inline constexpr size_t kMaxRefBytes = 4096;

struct WorkerHello {
  int64_t protocol = 0;
  int64_t pid = 0;
};
/// The worker has done what notice `id` asked for.
struct WorkerAck {
  int64_t id = 0;
};
/// A kind that this version does not know.
struct UnknownLine {
  std::string type;
};
using WorkerLine = std::variant<WorkerHello, Progress, CheckpointMark, WorkerAck, UnknownLine>;

/// RETURNS: what the line says; kInvalidArgument with a sentence if it is longer than
/// kMaxLineBytes, not a JSON object with a "type", or a known field has an impossible value.
Result<WorkerLine> parse_worker_line(std::string_view line);

/// Stop by yourself within `deadline`, a checkpoint first.
struct WorkerNotice {
  int64_t id = 0;
  Duration deadline;
  std::string reason;
};

/// RETURNS: the line, newline included.
std::string to_line(const WorkerNotice& notice);

}  // namespace keiko::agent
