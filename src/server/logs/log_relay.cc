// The life of a reader: opening, windows, chunks, ends.
#include "server/logs/log_relay.h"

#include <algorithm>

#include "server/queries.h"
#include "server/views.h"
#include "wire/convert.h"

namespace keiko::server {
namespace {

constexpr int64_t kMinWindow = 16 * 1024;
constexpr int64_t kMaxWindow = 256 * 1024;

Result<std::vector<LogStream>> streams_of(const std::string& word) {
  if (word.empty()) return std::vector{LogStream::kOut, LogStream::kErr};
  return std::vector{TRY(parse_log_stream(word))};
}

bool is_wanted(const v1::ReadLogsRequest& request, int32_t rank) {
  const auto& ranks = request.ranks();
  if (ranks.empty()) return request.rank() == -1 || request.rank() == rank;
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

/// RETURNS: a rank of the request that the job does not have, -1 if there is none.
int32_t find_unknown_rank(const v1::ReadLogsRequest& request, int32_t workers) {
  for (const int32_t rank : request.ranks()) {
    if (rank < 0 || rank >= workers) return rank;
  }
  return request.rank() >= workers || request.rank() < -1 ? request.rank() : -1;
}

}  // namespace

uint64_t LogRelay::open(const View& view, const v1::ReadLogsRequest& request,
                        std::shared_ptr<LogSink> sink) {
  const Result<const JobState*> job = find_job(view.state, request.job());
  Reader reader;
  reader.number = next_reader_++;
  reader.request = request;
  reader.sink = sink;
  reader.last_taken = view.now;
  const Done lanes = job.ok() ? set_lanes(**job, reader) : Done(job.error());
  if (!lanes.ok()) {
    sink->end(lanes);
    return 0;
  }
  reader.job = (*job)->id;
  remember_places(**job);
  const uint64_t number = reader.number;
  advance(view, readers_[number] = std::move(reader));
  return readers_.count(number) != 0 ? number : 0;
}

Done LogRelay::set_lanes(const JobState& job, Reader& reader) {
  const v1::ReadLogsRequest& request = reader.request;
  const int32_t unknown = find_unknown_rank(request, job.spec.workers);
  if (unknown != -1) {
    return invalid_argument("rank: " + to_text(job.id) + " has ranks 0 to " +
                                std::to_string(job.spec.workers - 1) + ", not " +
                                std::to_string(unknown), "rank");
  }
  if (request.attempt() < 0 || request.attempt() > std::max(job.attempt, 1)) {
    return invalid_argument("attempt: " + to_text(job.id) + " has had " +
                                std::to_string(job.attempt) + " so far", "attempt");
  }
  if (job.attempt == 0 && !(request.follow() && !is_final(job.status))) {
    return failed_precondition(to_text(job.id) + " has no output, as it never started: " +
                               to_text(job.status) +
                               (job.message.empty() ? "" : ", " + job.message));
  }
  for (int32_t rank = 0; rank < job.spec.workers; ++rank) {
    if (!is_wanted(request, rank)) continue;
    for (const LogStream stream : TRY(streams_of(request.stream()))) {
      Lane lane;
      lane.rank = rank;
      lane.stream = stream;
      lane.attempt = request.attempt() != 0 ? request.attempt() : std::max(job.attempt, 1);
      lane.offset = request.offset();
      reader.lanes.push_back(std::move(lane));
    }
  }
  return done();
}

void LogRelay::advance(const View& view, Reader& reader) {
  const Result<const JobState*> job = find_job(view.state, to_text(reader.job));
  if (!job.ok()) return end(reader.number, job.error());
  bool all_done = true;
  for (Lane& lane : reader.lanes) {
    while (!lane.done && lane.request == 0) {
      const Result<Next> next = next_step(view, **job, reader, lane);
      if (!next.ok()) return end(reader.number, next.error());
      if (*next == Next::kWait) break;
      if (*next == Next::kDone) lane.done = true;  // kAgain: another attempt, another place
      if (*next == Next::kAsk) ask(reader, lane);
    }
    all_done = all_done && lane.done;
  }
  if (all_done) end(reader.number, done());
}

Result<LogRelay::Next> LogRelay::next_step(const View& view, const JobState& job, Reader& reader,
                                           Lane& lane) {
  if (reader.buffered >= options_.log_buffer_bytes) return Next::kWait;
  if (lane.attempt > job.attempt) return is_final(job.status) ? Next::kDone : Next::kWait;
  const bool current = lane.attempt == job.attempt;
  const size_t rank = static_cast<size_t>(lane.rank);
  if (current && rank < job.workers.size() &&
      job.workers[rank].status == WorkerStatus::kStarting && !is_final(job.status)) {
    if (reader.request.follow()) return Next::kWait;
    if (reader.lanes.size() > 2) return Next::kDone;
  }
  lane.at_archive = archive_ != nullptr && !lane.left_archive;
  if (lane.at_archive) return Next::kAsk;
  if (lane.nodes.empty() && !choose_nodes(view, job, lane)) {
    const Error why = unavailable("no node of the pool is connected; the logs lie on the nodes");
    if (lane.found_here) return without_node(job, reader, lane, why);
    return reader.request.follow() ? Result<Next>(Next::kWait) : Result<Next>(why);
  }
  return find_connection(view, job, reader, lane);
}

bool LogRelay::choose_nodes(const View& view, const JobState& job, Lane& lane) {
  const auto place = places_.find({job.id, lane.attempt});
  const size_t rank = static_cast<size_t>(lane.rank);
  lane.node = 0;
  if (place != places_.end() && rank < place->second.size()) {
    lane.nodes = {place->second[rank]};
    return true;
  }
  // An attempt from before the server's start: its node is asked for by asking all.
  for (const auto& [id, node] : view.state.nodes) {
    const cluster::NodeSight* sight = view.brain.sight_of(id);
    if (!node.lost && sight != nullptr && sight->connection != 0) lane.nodes.push_back(id);
  }
  return !lane.nodes.empty();
}

Result<LogRelay::Next> LogRelay::find_connection(const View& view, const JobState& job,
                                                 Reader& reader, Lane& lane) {
  const NodeId node = lane.nodes[lane.node];
  const cluster::NodeSight* sight = view.brain.sight_of(node);
  if (sight != nullptr && sight->connection != 0 && agents_.find(sight->connection)) {
    lane.connection = sight->connection;
    lane.waiting_since = Time{};
    return Next::kAsk;
  }
  if (lane.waiting_since == Time{}) lane.waiting_since = view.now;
  const Error why = unavailable("node " + node_name(view.state, node) +
                                " is not connected, and the output of rank " +
                                std::to_string(lane.rank) +
                                " lies there; try again when it is back");
  const auto known = view.state.nodes.find(node);
  const bool gone = known == view.state.nodes.end() || known->second.lost;
  const bool settles_for_less = lane.found_here && (gone || !reader.request.follow());
  const bool patient = reader.request.follow() || lane.offset > 0;
  const bool waits = patient && view.now - lane.waiting_since < options_.log_node_timeout;
  if (waits && !settles_for_less) return Next::kWait;
  return without_node(job, reader, lane, why);
}

void LogRelay::ask(Reader& reader, Lane& lane) {
  const int64_t lanes = static_cast<int64_t>(reader.lanes.size());
  const int64_t share = static_cast<int64_t>(options_.log_buffer_bytes) / lanes;
  lane.window_left = std::clamp(share, kMinWindow, kMaxWindow);
  lane.request = next_request_++;
  reader_by_request_[lane.request] = reader.number;
  const LogRead read = read_of(reader, lane);
  if (lane.at_archive) return archive_->reader().start(read);
  v1::ServerMessage message;
  *message.mutable_log_read() = to_proto(read);
  if (const auto port = agents_.find(lane.connection)) port->send(std::move(message));
}

void LogRelay::on_chunk(const View& view, const LogChunk& chunk) {
  const auto number = reader_by_request_.find(chunk.request);
  if (number == reader_by_request_.end()) return;  // of a read that is over
  Reader& reader = readers_.at(number->second);
  const auto lane = std::find_if(reader.lanes.begin(), reader.lanes.end(), [&](const Lane& l) {
    return l.request == chunk.request;
  });
  const Result<const JobState*> job = find_job(view.state, to_text(reader.job));
  if (lane->at_archive && settle_archived(view, reader, *lane, chunk)) {
    return advance(view, reader);
  }
  if (!chunk.error.empty()) {
    const Done settled = settle_error(view, reader, *lane, chunk.error);
    if (!settled.ok()) return end(reader.number, settled);
    return advance(view, reader);
  }
  pass_on(reader, *lane, chunk);
  if (chunk.ended && job.ok()) {
    finish_attempt(**job, reader, *lane);
  } else if (chunk.eof && !reader.request.follow()) {
    stop_asking(*lane);
    lane->done = true;
  } else if (lane->window_left <= 0) {
    stop_asking(*lane);
  }
  advance(view, reader);
}

void LogRelay::pass_on(Reader& reader, Lane& lane, const LogChunk& chunk) {
  std::string_view data = chunk.data;
  int64_t offset = chunk.offset;
  if (lane.offset >= 0 && offset < lane.offset) {  // an overlap: only what is new
    const size_t known = std::min(data.size(), static_cast<size_t>(lane.offset - offset));
    data.remove_prefix(known);
    offset += static_cast<int64_t>(known);
  }
  if (offset < 0) return;  // nonsense from the agent
  lane.offset = std::max(offset + static_cast<int64_t>(data.size()), lane.offset);
  lane.window_left -= static_cast<int64_t>(chunk.data.size());
  if (data.empty()) return;
  v1::LogPiece piece;
  piece.set_attempt(lane.attempt);
  piece.set_rank(lane.rank);
  piece.set_stream(to_text(lane.stream));
  piece.set_offset(offset);
  piece.set_data(std::string(data));
  for (const LogMark& mark : chunk.marks) {
    v1::LogMark& told = *piece.add_marks();
    told.set_offset(mark.offset);
    set_proto(*told.mutable_at(), Time{mark.at.ns});
  }
  reader.buffered += data.size();
  reader.sink->piece(std::move(piece));
}

Done LogRelay::settle_error(const View& view, Reader& reader, Lane& lane,
                            const std::string& error) {
  stop_asking(lane);
  if (lane.node + 1 < lane.nodes.size()) {
    ++lane.node;
    return done();
  }
  const JobState& job = view.state.jobs.at(reader.job);
  const size_t rank = static_cast<size_t>(lane.rank);
  const bool lives = lane.attempt == job.attempt && rank < job.workers.size() &&
                     job.workers[rank].status != WorkerStatus::kEnded && !is_final(job.status);
  if (reader.request.follow() && lives) {  // not there yet: asked again at the next tick
    lane.nodes.clear();
    lane.waiting_since = view.now;
    lane.connection = 0;
    lane.request = UINT64_MAX;
    return done();
  }
  if (reader.request.follow() || reader.lanes.size() > 1 || lane.found_here) {
    finish_attempt(job, reader, lane);
    return done();
  }
  return not_found("no output of rank " + std::to_string(lane.rank) + ", attempt " +
                   std::to_string(lane.attempt) + ": " + error + hint_of(lane));
}

void LogRelay::finish_attempt(const JobState& job, Reader& reader, Lane& lane) {
  stop_asking(lane);
  v1::LogPiece piece;
  piece.set_attempt(lane.attempt);
  piece.set_rank(lane.rank);
  piece.set_stream(to_text(lane.stream));
  piece.set_offset(std::max<int64_t>(lane.offset, 0));
  piece.set_ended(true);
  reader.sink->piece(std::move(piece));
  const bool last = is_final(job.status) && lane.attempt >= job.attempt;
  if (!reader.request.follow() || reader.request.attempt() != 0 || last) {
    lane.done = true;
    return;
  }
  ++lane.attempt;
  lane.offset = 0;
  lane.nodes.clear();
  lane.left_archive = lane.found_here = false;
}

void LogRelay::stop_asking(Lane& lane) {
  if (lane.at_archive && lane.request != 0) archive_->reader().cancel(lane.request);
  lane.at_archive = false;
  reader_by_request_.erase(lane.request);
  lane.request = 0;
}

void LogRelay::taken(const View& view, uint64_t number, size_t bytes) {
  const auto reader = readers_.find(number);
  if (reader == readers_.end()) return;
  reader->second.buffered -= std::min(bytes, reader->second.buffered);
  reader->second.last_taken = view.now;
  advance(view, reader->second);
}

void LogRelay::cancel(uint64_t reader) { end(reader, Error{Code::kCancelled, "cancelled", {}}); }

void LogRelay::end(uint64_t number, const Done& how) {
  const auto reader = readers_.extract(number);
  if (!reader) return;
  for (Lane& lane : reader.mapped().lanes) {
    if (lane.request == 0) continue;
    if (const auto port = agents_.find(lane.connection)) {
      v1::ServerMessage message;
      message.mutable_log_cancel()->set_request(lane.request);
      port->send(std::move(message));
    }
    stop_asking(lane);
  }
  reader.mapped().sink->end(how);
}

void LogRelay::end_all(const Error& why) {
  while (!readers_.empty()) end(readers_.begin()->first, why);
}

}  // namespace keiko::server
