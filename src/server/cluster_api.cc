// From requests to commands and reads.
#include "server/cluster_api.h"

#include <memory>

#include "server/history/history_request.h"
#include "server/queries.h"
#include "wire/convert.h"
#include "wire/words.h"

namespace keiko::server {
namespace {

using cluster::JobAction;
using cluster::NodeAction;

Result<JobAction> parse_job_action(const std::string& word) {
  if (word == "cancel") return JobAction::kCancel;
  if (word == "hold") return JobAction::kHold;
  if (word == "release") return JobAction::kRelease;
  if (word == "requeue") return JobAction::kRequeue;
  return invalid_argument("action: " + quote_text(word) +
                              " is not one of cancel, hold, release, requeue", "action");
}

Result<NodeAction> parse_node_action(const std::string& word) {
  if (word == "cordon") return NodeAction::kCordon;
  if (word == "drain") return NodeAction::kDrain;
  if (word == "uncordon") return NodeAction::kUncordon;
  if (word == "forget") return NodeAction::kForget;
  if (word == "clear") return NodeAction::kClear;
  if (word == "check") return NodeAction::kCheck;
  return invalid_argument("action: " + quote_text(word) +
                              " is not one of cordon, drain, uncordon, forget, clear, check",
                          "action");
}

Result<cluster::SubmitJob> parse_submit(const v1::SubmitJobRequest& request) {
  if (!request.has_spec()) return invalid_argument("spec: is missing; say what to run", "spec");
  return cluster::SubmitJob{TRY(from_proto(request.spec())), request.token()};
}

void post_one(ServerLoop& loop, cluster::CommandBody body, OnReply on_reply) {
  std::vector<CommandItem> items;
  items.push_back({std::move(body), std::move(on_reply)});
  loop.post_commands(std::move(items));
}

/// Collects the outcomes of a batch; the last one answers. Outcomes come from one thread at a time,
/// but a batch that was refused at the door is answered on the caller's.
struct BatchAnswer {
  v1::SubmitJobsResponse response;
  std::atomic<int> missing{0};
  Then<v1::SubmitJobsResponse> then;

  void settle(int index, const Result<JobId>& result) {
    v1::SubmitOutcome& outcome = *response.mutable_outcomes(index);
    if (result.ok()) {
      outcome.set_job(to_text(*result));
    } else {
      outcome.mutable_error()->set_code(std::string(code_name(result.error().code)));
      outcome.mutable_error()->set_message(result.error().message);
      outcome.mutable_error()->set_where(result.error().where);
    }
    if (missing.fetch_sub(1) == 1) then(std::move(response));
  }
};

}  // namespace

void ClusterApi::submit_job(const v1::SubmitJobRequest& request, Then<v1::SubmitJobResponse> then) {
  Result<cluster::SubmitJob> submit = parse_submit(request);
  if (!submit.ok()) return then(submit.error());
  post_one(loop_, std::move(submit).value(),
           [then = std::move(then)](const Result<JobId>& result, const std::string& text) {
             if (!result.ok()) return then(result.error());
             v1::SubmitJobResponse response;
             response.set_job(to_text(*result));
             response.set_text(text);
             then(std::move(response));
           });
}

void ClusterApi::submit_jobs(const v1::SubmitJobsRequest& request,
                             Then<v1::SubmitJobsResponse> then) {
  const int count = request.requests_size();
  if (count > kMaxBatch) {
    return then(invalid_argument("requests: there are " + std::to_string(count) +
                                     "; send at most " + std::to_string(kMaxBatch) + " at once",
                                 "requests"));
  }
  if (count == 0) return then(v1::SubmitJobsResponse());
  auto answer = std::make_shared<BatchAnswer>();
  answer->then = std::move(then);
  answer->missing = count + 1;  // one for this function, so that it cannot be answered under it
  for (int i = 0; i < count; ++i) answer->response.add_outcomes();
  std::vector<CommandItem> items;
  for (int i = 0; i < count; ++i) {
    Result<cluster::SubmitJob> submit = parse_submit(request.requests(i));
    if (!submit.ok()) {
      answer->settle(i, submit.error());
      continue;
    }
    items.push_back({std::move(submit).value(),
                     [answer, i](const Result<JobId>& result, const std::string&) {
                       answer->settle(i, result);
                     }});
  }
  if (!items.empty()) loop_.post_commands(std::move(items));
  if (answer->missing.fetch_sub(1) == 1) answer->then(std::move(answer->response));
}

void ClusterApi::get_job(const v1::GetJobRequest& request, Then<v1::Job> then) {
  loop_.query<v1::Job>([request](const View& view) { return server::get_job(view, request.job()); },
                       std::move(then));
}

void ClusterApi::list_jobs(const v1::ListJobsRequest& request, Then<v1::ListJobsResponse> then) {
  loop_.query<v1::ListJobsResponse>(
      [request](const View& view) { return server::list_jobs(view, request); }, std::move(then));
}

void ClusterApi::act_on_job(const v1::ActOnJobRequest& request, Then<v1::ActOnJobResponse> then) {
  const Result<JobId> job = parse_job_id(request.job());
  if (!job.ok()) return then(job.error());
  const Result<JobAction> action = parse_job_action(request.action());
  if (!action.ok()) return then(action.error());
  post_one(
      loop_, cluster::ActOnJob{*job, *action, request.why()},
      [then = std::move(then), job = *job](const Result<JobId>& result, const std::string& text) {
        if (!result.ok()) return then(result.error());
        v1::ActOnJobResponse response;
        response.set_job(to_text(job));
        response.set_text(text);
        then(std::move(response));
      });
}

void ClusterApi::explain_job(const v1::ExplainJobRequest& request,
                             Then<v1::ExplainJobResponse> then) {
  loop_.query<v1::ExplainJobResponse>(
      [request](const View& view) { return server::explain_job(view, request.job()); },
      std::move(then));
}

void ClusterApi::list_nodes(const v1::ListNodesRequest& request, Then<v1::ListNodesResponse> then) {
  loop_.query<v1::ListNodesResponse>(
      [request](const View& view) { return server::list_nodes(view, request); }, std::move(then));
}

void ClusterApi::get_node(const v1::GetNodeRequest& request, Then<v1::Node> then) {
  loop_.query<v1::Node>(
      [request](const View& view) { return server::get_node(view, request.node()); },
      std::move(then));
}

void ClusterApi::act_on_node(const v1::ActOnNodeRequest& request,
                             Then<v1::ActOnNodeResponse> then) {
  const Result<NodeAction> action = parse_node_action(request.action());
  if (!action.ok()) return then(action.error());
  using Named = std::pair<NodeId, std::string>;
  const auto find = [node = request.node()](const View& view) -> Result<Named> {
    const NodeState* found = TRY(find_node(view.state, node));
    return Named{found->id, found->spec.name};
  };
  cluster::ActOnNode act{{}, *action, request.why(), request.device(), request.user()};
  loop_.query<Named>(find, [this, then, act = std::move(act)](Result<Named> node) mutable {
    if (!node.ok()) return then(node.error());
    act.node = node->first;
    post_one(loop_, std::move(act),
             [then, name = node->second](const Result<JobId>& result, const std::string& text) {
               if (!result.ok()) return then(result.error());
               v1::ActOnNodeResponse response;
               response.set_node(name);
               response.set_text(text);
               then(std::move(response));
             });
  });
}

void ClusterApi::get_version(const v1::GetVersionRequest&, Then<v1::GetVersionResponse> then) {
  loop_.query<v1::GetVersionResponse>(
      [this](const View& view) -> Result<v1::GetVersionResponse> {
        v1::GetVersionResponse response;
        response.set_version(identity_.version);
        response.set_term(identity_.term);
        set_proto(*response.mutable_started_at(), Time{identity_.started_at.ns});
        response.set_read_only(view.commits.is_full());
        if (view.commits.is_full()) response.set_message(view.commits.why_full());
        return response;
      },
      std::move(then));
}

void ClusterApi::get_history(const v1::GetHistoryRequest& request,
                             Then<v1::GetHistoryResponse> then) {
  if (history_ == nullptr) {
    return then(failed_precondition("this server keeps no history of metrics; its log says why"));
  }
  const Result<HistorySpan> span = parse_history_span(request);
  if (!span.ok()) return then(span.error());
  const auto find = [request](const View& view) -> Result<HistoryPlace> {
    return find_history_place(view, request);
  };
  loop_.query<HistoryPlace>(find, [this, request, then, span = *span](Result<HistoryPlace> place) {
    if (!place.ok()) return then(place.error());
    const auto& metrics = request.metrics();
    history_->read({place->node, place->device, {metrics.begin(), metrics.end()}, span},
                   [then, place = *place](Result<HistoryAnswer> answer) {
                     if (!answer.ok()) return then(answer.error());
                     then(to_response(place, *answer));
                   });
  });
}

}  // namespace keiko::server
