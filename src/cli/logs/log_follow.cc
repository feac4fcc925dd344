#include "cli/logs/log_follow.h"

namespace keiko::cli {
namespace {

bool is_passing(Code code) {
  return code == Code::kUnavailable || code == Code::kDeadlineExceeded || code == Code::kAborted ||
         code == Code::kResourceExhausted;
}

/// After a break: the rest of the attempt that was under way, in case the next one began meanwhile.
/// Only bytes that were not printed yet are asked for where one place serves all lanes.
Done catch_up(Client& client, const v1::ReadLogsRequest& request, LogPrinter& printer,
              std::stop_token stop) {
  if (request.attempt() != 0 || printer.attempt() == 0) return done();
  v1::ReadLogsRequest rest = request;
  rest.set_attempt(printer.attempt());
  rest.set_follow(false);
  rest.set_offset(0);
  return client.read_logs(
      rest, [&printer](const v1::LogPiece& piece) { printer.add(piece); return true; }, stop);
}

}  // namespace

Done follow_logs(Client& client, const v1::ReadLogsRequest& request, LogPrinter& printer,
                 const FollowOptions& options) {
  const std::stop_token& stop = options.stop;
  v1::ReadLogsRequest next = request;
  bool told = false;
  while (true) {
    const Done read = client.read_logs(
        next,
        [&printer, &told](const v1::LogPiece& piece) {
          printer.add(piece);
          told = false;
          return true;
        },
        stop);
    if (read.ok() || stop.stop_requested()) return done();
    if (!is_passing(read.error().code)) return read;
    if (!told) options.on_break(read.error());
    told = true;
    if (!options.wait_to_retry()) return read;
    // The printer drops what it knows, so the beginning is a place that loses nothing.
    if (!printer.next_offsets().empty()) next.set_offset(0);
    const Done rest = catch_up(client, request, printer, stop);
    if (!rest.ok() && !is_passing(rest.error().code)) return rest;
  }
}

}  // namespace keiko::cli
