// Lanes at the server's own copy: when they go on to the node, and when there is none to go to.
#include "server/logs/log_relay.h"
#include "wire/convert.h"

namespace keiko::server {
namespace {

/// A worker that has ended and whose node sends no more of its output for so long is asked itself.
constexpr Duration kQuiet = seconds(2);

bool is_over(const JobState& job, int32_t attempt, int32_t rank) {
  const auto at = static_cast<size_t>(rank);
  return attempt < job.attempt || is_final(job.status) || at >= job.workers.size() ||
         job.workers[at].status == WorkerStatus::kEnded;
}

}  // namespace

std::string LogRelay::hint_of(const Lane& lane) {
  return lane.why_not_here.empty() ? "" : "; the server: " + lane.why_not_here;
}

LogRead LogRelay::read_of(const Reader& reader, const Lane& lane) const {
  LogRead read;
  read.request = lane.request;
  read.key = {reader.job, lane.attempt, lane.rank};
  read.stream = lane.stream;
  read.offset = lane.offset;
  read.max_bytes = lane.window_left;
  read.follow = reader.request.follow();
  if (!lane.at_archive) return read;
  read.times = reader.request.times();
  if (reader.request.has_since()) read.since.ns = from_proto(reader.request.since()).ns;
  return read;
}

/// RETURNS: whether there is nothing more to do with the chunk.
bool LogRelay::settle_archived(const View& view, Reader& reader, Lane& lane,
                               const LogChunk& chunk) {
  if (!chunk.error.empty()) {
    lane.why_not_here = chunk.error;
    leave_archive(lane);
    return true;
  }
  lane.found_here = true;
  lane.quiet_since = view.now;
  if (chunk.ended || !chunk.eof || reader.request.follow()) return false;
  pass_on(reader, lane, chunk);
  leave_archive(lane);
  return true;
}

void LogRelay::leave_archive(Lane& lane) {
  stop_asking(lane);
  lane.left_archive = true;
}

/// Of lanes that follow: the archive gets no more, though there may be more.
void LogRelay::leave_quiet_archive(const View& view, const JobState& job, Lane& lane) {
  if (!lane.at_archive || lane.request == 0 || !lane.found_here) return;
  if (view.now - lane.quiet_since < kQuiet) return;
  if (is_over(job, lane.attempt, lane.rank) || !archive_->paused().empty()) leave_archive(lane);
}

/// What is here has been handed out, and the node with the rest cannot be asked.
Result<LogRelay::Next> LogRelay::without_node(const JobState& job, Reader& reader, Lane& lane,
                                              const Error& why) {
  if (!lane.found_here) return Error{why.code, why.message + hint_of(lane), {}};
  if (!reader.request.follow()) return Next::kDone;
  if (!is_over(job, lane.attempt, lane.rank)) return Next::kWait;
  finish_attempt(job, reader, lane);
  return lane.done ? Next::kDone : Next::kAgain;
}

}  // namespace keiko::server
