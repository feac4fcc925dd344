// Pages walk the tables in key order; the token is the last key that was looked at.
#include "server/queries.h"

#include "server/views.h"
#include "wire/convert.h"
#include "wire/words.h"

namespace keiko::server {
namespace {

constexpr std::array kNodeStatuses{NodeStatus::kReady,       NodeStatus::kSlow,
                                   NodeStatus::kUnreachable, NodeStatus::kLost,
                                   NodeStatus::kCordoned,    NodeStatus::kDraining,
                                   NodeStatus::kQuarantined};

Result<size_t> page_size_of(int32_t asked) {
  if (asked == 0) return size_t{kDefaultPage};
  if (asked < 0 || asked > kMaxPage) {
    return invalid_argument("page_size: " + std::to_string(asked) +
                                " is out of range; it must be 1 to " + std::to_string(kMaxPage),
                            "page_size");
  }
  return static_cast<size_t>(asked);
}

template <class Key>
Result<Key> parse_token(const std::string& token, Result<Key> (*parse)(std::string_view)) {
  if (token.empty()) return Key{};
  const Result<Key> key = parse(token);
  if (key.ok()) return *key;
  return invalid_argument(
      "page_token: " + quote_text(token) +
          " is not a token of this listing; take next_page_token as it was given",
      "page_token");
}

template <class E, size_t kCount>
Result<std::set<E>> parse_statuses(const google::protobuf::RepeatedPtrField<std::string>& words,
                                   const std::array<E, kCount>& known) {
  std::set<E> statuses;
  for (const std::string& word : words) statuses.insert(TRY(parse_word(word, known, "status")));
  return statuses;
}

struct JobFilter {
  std::set<JobStatus> statuses;
  const v1::ListJobsRequest& request;

  bool matches(const JobState& job) const {
    return (statuses.empty() || statuses.count(job.status) != 0) &&
           (request.user().empty() || request.user() == job.spec.user) &&
           (request.name().empty() || request.name() == job.spec.name) &&
           (request.queue().empty() || request.queue() == job.spec.queue);
  }
};

/// Walks [from, end) until the page is full, the scan limit is reached or nothing is left.
template <class Iterator>
void fill_page(const View& view, Iterator from, Iterator end, const JobFilter& filter,
               size_t page_size, v1::ListJobsResponse& out) {
  size_t scanned = 0;
  JobId last;
  for (; from != end; ++from, ++scanned) {
    const bool full = static_cast<size_t>(out.jobs_size()) == page_size || scanned == kMaxScan;
    if (full) {
      out.set_next_page_token(to_text(last));
      return;
    }
    last = from->first;
    if (filter.matches(from->second)) {
      *out.add_jobs() = view_of(view, from->second, Detail::kListing);
    }
  }
}

/// The next unfinished job after `after`: they are few among many, and indexed.
JobId next_unfinished(const State& state, JobId after) {
  const auto pending = state.pending.upper_bound(after);
  const auto active = state.active.upper_bound(after);
  if (pending == state.pending.end()) return active == state.active.end() ? JobId{} : *active;
  return active == state.active.end() ? *pending : std::min(*pending, *active);
}

bool only_indexed(const std::set<JobStatus>& statuses) {
  for (const JobStatus status : statuses) {
    if (is_final(status) || status == JobStatus::kSuspended) return false;
  }
  return !statuses.empty();
}

void fill_from_index(const View& view, JobId after, const JobFilter& filter, size_t page_size,
                     v1::ListJobsResponse& out) {
  const State& state = view.state;
  for (size_t scanned = 0;; ++scanned) {
    const JobId next = next_unfinished(state, after);
    if (!next) return;
    if (static_cast<size_t>(out.jobs_size()) == page_size || scanned == kMaxScan) {
      out.set_next_page_token(to_text(after));
      return;
    }
    const JobState& job = state.jobs.at(next);
    if (filter.matches(job)) *out.add_jobs() = view_of(view, job, Detail::kListing);
    after = next;
  }
}

}  // namespace

Result<v1::ListJobsResponse> list_jobs(const View& view, const v1::ListJobsRequest& request) {
  const size_t page_size = TRY(page_size_of(request.page_size()));
  const JobId after = TRY(parse_token<JobId>(request.page_token(), &parse_job_id));
  const JobFilter filter{TRY(parse_statuses(request.statuses(), kJobStatuses)), request};
  const std::map<JobId, JobState>& jobs = view.state.jobs;
  v1::ListJobsResponse out;
  if (request.newest_first()) {
    const auto from = after ? jobs.lower_bound(after) : jobs.end();
    fill_page(view, std::make_reverse_iterator(from), jobs.rend(), filter, page_size, out);
  } else if (only_indexed(filter.statuses)) {
    fill_from_index(view, after, filter, page_size, out);
  } else {
    fill_page(view, jobs.upper_bound(after), jobs.end(), filter, page_size, out);
  }
  return out;
}

Result<v1::ListNodesResponse> list_nodes(const View& view, const v1::ListNodesRequest& request) {
  const size_t page_size = TRY(page_size_of(request.page_size()));
  const NodeId after = TRY(parse_token<NodeId>(request.page_token(), &parse_node_id));
  const std::set<NodeStatus> statuses = TRY(parse_statuses(request.statuses(), kNodeStatuses));
  const std::map<NodeId, NodeState>& nodes = view.state.nodes;
  const DeviceHolders holders = device_holders(view.state);
  const Detail detail = request.with_topology() ? Detail::kWhole : Detail::kListing;
  v1::ListNodesResponse out;
  NodeId last;
  for (auto node = nodes.upper_bound(after); node != nodes.end(); ++node) {
    if (static_cast<size_t>(out.nodes_size()) == page_size) {
      out.set_next_page_token(to_text(last));
      break;
    }
    last = node->first;
    if (node->second.forgotten) continue;
    if (statuses.empty() || statuses.count(view.brain.status_of(node->first, view.now)) != 0) {
      *out.add_nodes() = view_of(view, node->second, detail, holders);
    }
  }
  return out;
}

Result<const JobState*> find_job(const State& state, const std::string& job) {
  const JobId id = TRY(parse_job_id(job));
  const auto found = state.jobs.find(id);
  if (found != state.jobs.end()) return &found->second;
  return not_found("there is no job " + to_text(id) + "; `keiko jobs` lists those there are");
}

Result<const NodeState*> find_node(const State& state, const std::string& node) {
  const auto named = state.node_by_name.find(node);
  const auto known = [&](NodeId id) -> const NodeState* {
    const auto found = state.nodes.find(id);
    return found == state.nodes.end() || found->second.forgotten ? nullptr : &found->second;
  };
  if (named != state.node_by_name.end() && known(named->second) != nullptr) {
    return known(named->second);
  }
  const Result<NodeId> id = parse_node_id(node);
  if (id.ok() && known(*id) != nullptr) return known(*id);
  std::vector<std::string> names;
  for (const auto& [name, number] : state.node_by_name) {
    if (known(number) != nullptr) names.push_back(name);
  }
  const std::string near = names.size() <= 1000 ? nearest_word(node, names) : "";
  return not_found("there is no node " + quote_text(node) +
                   (near.empty() ? "; `keiko nodes` lists those there are"
                                 : "; did you mean " + near + "?"));
}

Result<v1::Job> get_job(const View& view, const std::string& job) {
  const JobState* found = TRY(find_job(view.state, job));
  return view_of(view, *found, Detail::kWhole);
}

Result<v1::Node> get_node(const View& view, const std::string& node) {
  const NodeState* found = TRY(find_node(view.state, node));
  return view_of(view, *found, Detail::kWhole, device_holders(view.state));
}

Result<v1::ExplainJobResponse> explain_job(const View& view, const std::string& job) {
  const JobState* found = TRY(find_job(view.state, job));
  v1::ExplainJobResponse out;
  *out.mutable_verdict() = to_proto(view.brain.explain(found->id, view.now));
  return out;
}

}  // namespace keiko::server
