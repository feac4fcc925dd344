// One branch per route.
#include "server/http/http_gateway.h"

#include "server/http/http_requests.h"
#include "server/http/openapi.h"
#include "wire/json.h"

namespace keiko::server {
namespace {

template <class Response>
Then<Response> as_json(OnAnswer on_answer, int status = 200) {
  return [on_answer = std::move(on_answer), status](Result<Response> result) {
    if (!result.ok()) return on_answer(error_answer(result.error()));
    HttpAnswer answer;
    answer.status = status;
    answer.body = to_json(*result) + '\n';
    on_answer(std::move(answer));
  };
}

/// Hands a parsed request to the api, or its error to the client.
template <class Request, class Response>
void call(ClusterApi& api, void (ClusterApi::*method)(const Request&, Then<Response>),
          const Result<Request>& request, OnAnswer on_answer, int status = 200) {
  if (!request.ok()) return on_answer(error_answer(request.error()));
  (api.*method)(*request, as_json<Response>(std::move(on_answer), status));
}

/// The devices of a page of nodes, each with its node's name in front.
HttpAnswer devices_answer(const v1::ListNodesResponse& nodes) {
  HttpAnswer answer;
  answer.body = "{\"devices\":[";
  for (const v1::Node& node : nodes.nodes()) {
    for (const v1::Device& device : node.devices()) {
      if (answer.body.back() != '[') answer.body += ',';
      answer.body += "{\"node\":" + quote_text(node.name()) + ',' + to_json(device).substr(1);
    }
  }
  answer.body += "],\"next_page_token\":" + quote_text(nodes.next_page_token()) + "}\n";
  return answer;
}

/// "localhost:7071" -> "localhost", "[::1]:80" -> "::1".
std::string host_name(const std::string& host) {
  if (!host.empty() && host[0] == '[') return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

bool is_json(const std::string& content_type) {
  return trim(std::string_view(content_type).substr(0, content_type.find(';'))) ==
         "application/json";
}

}  // namespace

HttpAnswer error_answer(const Error& error) {
  HttpAnswer answer;
  answer.status = http_status(error.code);
  answer.body = error_json(error) + '\n';
  return answer;
}

HttpAnswer error_answer(int status, Code code, const std::string& message) {
  HttpAnswer answer = error_answer(Error{code, message, {}});
  answer.status = status;
  return answer;
}

Done HttpGateway::check_origin(const HttpCall& call) const {
  const std::string host = host_name(call.host);
  const bool local = host.empty() || host == "localhost" || host == "::1" ||
                     host.compare(0, 4, "127.") == 0;
  if (loopback_ && !local) {
    return Error{Code::kPermissionDenied,
                 "this server listens on this machine only; the Host header must be localhost",
                 "Host"};
  }
  return done();
}

std::shared_ptr<Feed> HttpGateway::handle(const HttpCall& call, OnAnswer on_answer) {
  const Done origin = check_origin(call);
  if (!origin.ok()) return on_answer(error_answer(origin.error())), nullptr;
  const RouteMatch match = match_route(call.method, call.target);
  if (match.status != 200) {
    const Code code = match.status == 404   ? Code::kNotFound
                      : match.status == 405 ? Code::kUnimplemented
                                            : Code::kInvalidArgument;
    HttpAnswer answer = error_answer(match.status, code, match.message);
    answer.allow = match.allow;
    return on_answer(std::move(answer)), nullptr;
  }
  // A page of another site can send a plain POST through a browser, but not this content type.
  if (call.method == "POST" && !is_json(call.content_type)) {
    on_answer(
        error_answer(415, Code::kInvalidArgument,
                     "the body must be JSON, with the header Content-Type: application/json"));
    return nullptr;
  }
  if (match.id == RouteId::kEvents || match.id == RouteId::kReadLogs) {
    return open_feed(call, match, on_answer);
  }
  answer(call, match, std::move(on_answer));
  return nullptr;
}

std::shared_ptr<Feed> HttpGateway::open_feed(const HttpCall& call, const RouteMatch& match,
                                             const OnAnswer& on_answer) {
  if (call.method == "HEAD") {
    HttpAnswer answer;
    answer.content_type = "text/event-stream";
    return on_answer(std::move(answer)), nullptr;
  }
  if (match.id == RouteId::kEvents) {
    const auto request = watch_events_request(match, call.last_event_id);
    if (!request.ok()) return on_answer(error_answer(request.error())), nullptr;
    return make_event_feed(api_.loop().events(), *request);
  }
  const auto request = read_logs_request(match, call.last_event_id, clock_.wall());
  if (!request.ok()) return on_answer(error_answer(request.error())), nullptr;
  return make_log_feed(api_.loop(), relay_, *request);
}

void HttpGateway::answer(const HttpCall& call_in, const RouteMatch& match, OnAnswer on_answer) {
  const std::string& body = call_in.body;
  const auto value = [&](const char* name) { return match.path.at(name); };
  if (match.path.count("action") == 0 && match.path.size() == 1 &&
      match.id != RouteId::kGetHistory) {
    const Done none = no_parameters(match);
    if (!none.ok()) return on_answer(error_answer(none.error()));
  }
  switch (match.id) {
    case RouteId::kListJobs:
      return call(api_, &ClusterApi::list_jobs, list_jobs_request(match), std::move(on_answer));
    case RouteId::kSubmitJob:
      return call(api_, &ClusterApi::submit_job, submit_job_request(match, body),
                  std::move(on_answer), 201);
    case RouteId::kActOnJob:
      return call(api_, &ClusterApi::act_on_job, act_on_job_request(match, body),
                  std::move(on_answer));
    case RouteId::kActOnNode:
      return call(api_, &ClusterApi::act_on_node, act_on_node_request(match, body),
                  std::move(on_answer));
    case RouteId::kListNodes:
      return call(api_, &ClusterApi::list_nodes, list_nodes_request(match), std::move(on_answer));
    case RouteId::kGetHistory:
      return call(api_, &ClusterApi::get_history, get_history_request(match),
                  std::move(on_answer));
    case RouteId::kGetJob: {
      v1::GetJobRequest request;
      request.set_job(value("job"));
      return api_.get_job(request, as_json<v1::Job>(std::move(on_answer)));
    }
    case RouteId::kExplainJob: {
      v1::ExplainJobRequest request;
      request.set_job(value("job"));
      return api_.explain_job(request, as_json<v1::ExplainJobResponse>(std::move(on_answer)));
    }
    case RouteId::kGetNode: {
      v1::GetNodeRequest request;
      request.set_node(value("node"));
      return api_.get_node(request, as_json<v1::Node>(std::move(on_answer)));
    }
    case RouteId::kListDevices: {
      const auto request = list_nodes_request(match);
      if (!request.ok()) return on_answer(error_answer(request.error()));
      return api_.list_nodes(*request, [on_answer](Result<v1::ListNodesResponse> nodes) {
        on_answer(nodes.ok() ? devices_answer(*nodes) : error_answer(nodes.error()));
      });
    }
    case RouteId::kVersion:
      return api_.get_version({}, as_json<v1::GetVersionResponse>(std::move(on_answer)));
    case RouteId::kHealth:
      return api_.get_version({}, [on_answer](Result<v1::GetVersionResponse> version) {
        if (!version.ok()) return on_answer(error_answer(version.error()));
        // Alive also while read-only: a restart would not make room on the disk.
        on_answer({200, "text/plain", version->read_only() ? "read-only\n" : "ok\n", {}});
      });
    case RouteId::kMetrics: return answer_metrics(std::move(on_answer));
    case RouteId::kOpenApi: return on_answer({200, "application/yaml", openapi_yaml(), {}});
    case RouteId::kEvents:
    case RouteId::kReadLogs: break;
  }
  on_answer(error_answer(internal_error("a stream was asked for an answer")));
}

void HttpGateway::answer_metrics(OnAnswer on_answer) {
  api_.loop().query<std::string>(
      [this](const View& view) -> Result<std::string> {
        probe_.read(view.brain, view.now, api_.loop().waiting());
        return probe_.text();
      },
      [on_answer](Result<std::string> text) {
        if (!text.ok()) return on_answer(error_answer(text.error()));
        on_answer({200, "text/plain; version=0.0.4", std::move(text).value(), {}});
      });
}

}  // namespace keiko::server
