// HttpGateway: what each route answers, apart from sockets.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ports/clock.h"
#include "server/cluster_api.h"
#include "server/feed.h"
#include "server/http/http_router.h"
#include "server/logs/log_relay.h"

namespace keiko::server {

struct HttpCall {
  std::string method;
  std::string target;
  std::string body;
  std::string content_type;
  std::string host;
  std::string last_event_id;
};

struct HttpAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string allow;   ///< of 405
};
using OnAnswer = std::function<void(HttpAnswer)>;

HttpAnswer error_answer(const Error& error);
HttpAnswer error_answer(int status, Code code, const std::string& message);

/// What answers come from; all of it outlives the gateway.
struct GatewayParts {
  ClusterApi& api;
  LogRelay& relay;
  ServerProbe& probe;
  Clock& clock;  ///< for people's words alone, such as "since 10m"
};

class HttpGateway {
 public:
  /// `loopback`: the server listens on this machine only, so a Host header that names anything else
  /// comes from a page that tries to reach it through a browser (DNS rebinding).
  HttpGateway(const GatewayParts& parts, bool loopback)
      : api_(parts.api),
        relay_(parts.relay),
        probe_(parts.probe),
        clock_(parts.clock),
        loopback_(loopback) {}

  /// RETURNS: a feed if the call asks for a stream; else null, and on_answer is called exactly
  /// once, from any thread.
  std::shared_ptr<Feed> handle(const HttpCall& call, OnAnswer on_answer);

 private:
  Done check_origin(const HttpCall& call) const;
  void answer(const HttpCall& call, const RouteMatch& match, OnAnswer on_answer);
  void answer_metrics(OnAnswer on_answer);
  std::shared_ptr<Feed> open_feed(const HttpCall& call, const RouteMatch& match,
                                  const OnAnswer& on_answer);

  ClusterApi& api_;
  LogRelay& relay_;
  ServerProbe& probe_;
  Clock& clock_;
  const bool loopback_;
};

}  // namespace keiko::server
