// Options of the server. apps/ fills them from flags; tests from code.
#pragma once

#include <cstddef>
#include <string>

#include "base/bytes.h"
#include "base/time.h"
#include "core/logship/retention.h"

namespace keiko {
class History;
class LogStore;
}

namespace keiko::server {

struct LoopOptions {
  /// Events that wait for the loop; beyond it commands are refused with kResourceExhausted, so that
  /// memory is bounded and clients hear at once. 100,000 submits of 1 KiB are 100 MiB.
  size_t queue_limit = 100'000;
  /// A snapshot is written after so many records or bytes, whichever comes first: 50,000 records
  /// replay in well under a second.
  uint64_t snapshot_records = 50'000;
  Bytes snapshot_bytes = mebibytes(64);
  /// Time that reads may take between two batches, so that they never hold up heartbeats.
  Duration read_slice = milliseconds(5);
  /// With a queue that never empties the scheduler still gets a turn this often.
  Duration schedule_at_least = milliseconds(100);
  /// A pass that took long is followed by a pause of so many times its length, up to a second: a
  /// long line makes passes dear, and submits, heartbeats and reads need the loop meanwhile. Passes
  /// of an ordinary length are not held up by it: 1 ms asks for 4 ms.
  int pass_rest = 4;
  /// After an append that failed for want of space: first pause before commands are tried again;
  /// doubles up to the maximum.
  Duration retry_first = seconds(1);
  Duration retry_most = seconds(15);
  /// Effects that may wait for a full disk before the brain starts over without them.
  size_t held_limit = 200'000;
  /// Events that WatchEvents can go back to.
  size_t event_ring = 20'000;
};

struct StreamOptions {
  /// Bytes of log output that may wait for one reader.
  size_t log_buffer_bytes = 1u << 20;
  /// A reader that takes nothing for this long, with data waiting, is cut off.
  Duration slow_reader_timeout = seconds(60);
  /// Bytes that may wait for one agent before its stream is closed as dead.
  size_t agent_buffer_bytes = 64u << 20;
  /// How long a follower waits for a node that lost its connection before it gives up.
  Duration log_node_timeout = seconds(15);
};

/// Workers' output in the server's store.
struct LogOptions {
  /// What was taken is durable within this, so that a crash of the machine costs the nodes little
  /// to send again; a worker's end does not wait for it.
  Duration sync_every = milliseconds(200);
  /// After a store that took nothing: first pause before it is tried again; doubles up to the
  /// maximum.
  Duration retry_first = seconds(1);
  /// Soon enough after somebody has made room; the nodes' files are the buffer meanwhile.
  Duration retry_most = seconds(15);
  /// With less than this free on the store's disk nothing is taken: the journal, which every
  /// decision needs, lies there, too.
  Bytes floor = mebibytes(256);
  /// What is kept of one stream of one worker; the rest is dropped, with a mark in the text; 0: no
  /// limit. Jobs set one of their own, 1 GiB unless they say otherwise; this one is the operator's.
  Bytes stream_limit = gibibytes(4);
  /// Which logs are removed.
  logship::RetentionOptions retention;
  /// How often that is looked at; it looks at every file.
  Duration sweep_every = minutes(1);
};

/// The history of metrics.
struct HistoryOptions {
  /// How long the coarsest spans, of 15 minutes, are kept; 0: for ever. A month shows last month's
  /// trouble beside today's. Finer spans go after 6 h (10 s) and 7 d (1 min).
  Duration keep = hours(24 * 30);
  /// What the file may take; beyond it the oldest of the finest spans go first. A span of
  /// a node with 8 devices takes 1.65 KB (docs/BENCH.md).
  Bytes total = gibibytes(2);
  /// Ended spans are written this often. Agents tell once a second, a span is 10 s.
  Duration write_every = seconds(2);
  /// Spans that may wait for the disk, one a node and 10 s: 10,000 nodes for 20 s.
  size_t queue_rows = 20'000;
  /// How often what is too old is removed.
  Duration sweep_every = minutes(1);
};

struct HttpOptions {
  size_t header_limit_bytes = 16 * 1024;
  size_t body_limit_bytes = 1024 * 1024;
  /// A client must send its request, and take its answer, within this.
  Duration request_timeout = seconds(30);
  /// Silence on an event stream is broken this often, so that a dead client is noticed.
  Duration stream_beat = seconds(15);
  /// Connections at once; more are turned away with 503.
  size_t connection_limit = 1024;
};

struct ServerOptions {
  /// Where workers' output is kept; outlives the server. Null: on the nodes alone.
  LogStore* log_store = nullptr;
  /// Where the metrics' past is kept; outlives the server. Null: it is not kept.
  History* history_store = nullptr;
  /// Address to listen on. There is no authentication yet, so the default is this machine alone.
  std::string listen = "127.0.0.1";
  int grpc_port = 7070;  ///< agents, command line, SDKs; 0: any free one
  int http_port = 7071;  ///< JSON, events, metrics; 0: any free one
  /// Where server.json (pid and addresses) is written for the command line; empty: nowhere.
  std::string state_dir;
  std::string version;   ///< shown to clients
  LoopOptions loop;
  StreamOptions streams;
  LogOptions logs;       ///< of what is kept in log_store
  HistoryOptions history;  ///< of what is kept in history_store
  HttpOptions http;
};

}  // namespace keiko::server
