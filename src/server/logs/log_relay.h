// LogRelay: output of workers to clients, by pulling.
//
// A reader has a lane for each rank and stream it wants. A lane asks the server's archive for a
// window of bytes at its offset, and the rank's node for what the archive does not have; it hands
// the pieces to the sink, and asks again once the sink has taken enough. So a client that does not
// read stops its own lanes and nothing else; a node that comes back is asked again at the lane's
// offset, nothing lost, nothing repeated; and with `follow` a lane goes on to the job's next
// attempt. For the loop thread alone, sinks excepted.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "keiko/v1/cluster.pb.h"
#include "server/logs/log_archive.h"
#include "server/server_loop.h"
#include "wire/logs/log_messages.h"

namespace keiko::server {

/// Where pieces go. Called on the loop thread; must not block.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void piece(v1::LogPiece piece) = 0;
  /// The last call. kResourceExhausted: the client did not read, cut it off.
  virtual void end(const Done& how) = 0;
};

class LogRelay : public LoopWatcher {
 public:
  /// `archive` null: output lies on the nodes alone.
  LogRelay(AgentRoster& agents, LogArchive* archive, const StreamOptions& options,
           ServerProbe& probe)
      : agents_(agents), archive_(archive), options_(options), probe_(probe) {}

  /// RETURNS: the reader's number, or 0 if it has ended already.
  uint64_t open(const View& view, const v1::ReadLogsRequest& request,
                std::shared_ptr<LogSink> sink);

  /// The sink's client took `bytes` of what the reader got.
  void taken(const View& view, uint64_t reader, size_t bytes);
  /// The client is gone.
  void cancel(uint64_t reader);

  void on_chunk(const View& view, const LogChunk& chunk);
  /// Ends every reader; the server stops.
  void end_all(const Error& why);

  void on_jobs_changed(const View& view, const std::set<JobId>& jobs) override;
  void on_connections_changed(const View& view) override;
  void on_tick(const View& view) override;

 private:
  struct Lane {
    int32_t rank = 0;
    LogStream stream = LogStream::kOut;
    int32_t attempt = 0;
    int64_t offset = 0;
    uint64_t request = 0;       // under way, 0: none
    uint64_t connection = 0;    // whom it was sent to
    int64_t window_left = 0;
    std::vector<NodeId> nodes;  // to ask, in order; several only if the place is not known
    size_t node = 0;
    Time waiting_since;         // for a node's connection
    bool at_archive = false;    // the request under way is the archive's
    bool left_archive = false;  // the archive has no more; what is missing lies on the node
    bool found_here = false;    // the archive has some of it, or all
    Time quiet_since;           // at the archive's end
    std::string why_not_here;   // the archive's word
    bool done = false;
  };
  struct Reader {
    uint64_t number = 0;
    v1::ReadLogsRequest request;
    JobId job;
    std::shared_ptr<LogSink> sink;
    std::vector<Lane> lanes;
    size_t buffered = 0;        // handed to the sink, not taken yet
    Time last_taken;
  };
  /// What a lane can do now.
  enum class Next { kAsk, kWait, kDone, kAgain };

  Done set_lanes(const JobState& job, Reader& reader);
  void advance(const View& view, Reader& reader);
  Result<Next> next_step(const View& view, const JobState& job, Reader& reader, Lane& lane);
  Result<Next> find_connection(const View& view, const JobState& job, Reader& reader, Lane& lane);
  bool choose_nodes(const View& view, const JobState& job, Lane& lane);
  void ask(Reader& reader, Lane& lane);
  void pass_on(Reader& reader, Lane& lane, const LogChunk& chunk);
  Done settle_error(const View& view, Reader& reader, Lane& lane, const std::string& error);
  void finish_attempt(const JobState& job, Reader& reader, Lane& lane);
  void stop_asking(Lane& lane);
  void end(uint64_t reader, const Done& how);
  void remember_places(const JobState& job);

  // log_relay_archive.cc: the server's own copy.
  LogRead read_of(const Reader& reader, const Lane& lane) const;
  bool settle_archived(const View& view, Reader& reader, Lane& lane, const LogChunk& chunk);
  static std::string hint_of(const Lane& lane);
  void leave_archive(Lane& lane);
  void leave_quiet_archive(const View& view, const JobState& job, Lane& lane);
  Result<Next> without_node(const JobState& job, Reader& reader, Lane& lane, const Error& why);

  AgentRoster& agents_;
  LogArchive* const archive_;
  const StreamOptions options_;
  ServerProbe& probe_;
  std::map<uint64_t, Reader> readers_;
  std::map<uint64_t, uint64_t> reader_by_request_;
  std::map<std::pair<JobId, int32_t>, std::vector<NodeId>>
      places_;  // by rank, of past attempts too
  uint64_t next_reader_ = 1;
  uint64_t next_request_ = 1;
};

}  // namespace keiko::server
