// Feed: a stream of server-sent events, pulled by its connection one frame at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "keiko/v1/cluster.pb.h"
#include "server/event_log.h"
#include "server/logs/log_relay.h"

namespace keiko::server {

class Feed {
 public:
  struct Pulled {
    bool open = false;            ///< the headers may go out
    std::string frame;            ///< whole frames; empty: nothing now
    bool ended = false;           ///< nothing follows this frame
    std::optional<Error> error;   ///< why it ended, if not as it should
  };

  virtual ~Feed() = default;

  /// `wake` is called from any thread when pull() may have news.
  virtual void start(std::function<void()> wake) = 0;
  /// On the connection's thread, when the frame before has been written.
  virtual Pulled pull() = 0;
  /// The connection is gone. `wake` is not called after this returns.
  virtual void stop() = 0;
};

std::shared_ptr<Feed> make_event_feed(EventLog& events, const v1::WatchEventsRequest& request);
std::shared_ptr<Feed> make_log_feed(ServerLoop& loop, LogRelay& relay,
                                    const v1::ReadLogsRequest& request);

/// RETURNS: one frame; `data` has no line breaks.
std::string sse_frame(const std::string& id, const std::string& event, const std::string& data);

}  // namespace keiko::server
