// What the relay does when the cluster changes under its readers.
#include "server/logs/log_relay.h"

namespace keiko::server {
namespace {

/// A lane that waits for the next tick instead of a request.
constexpr uint64_t kResting = UINT64_MAX;
constexpr size_t kMaxPlaces = 20'000;

}  // namespace

void LogRelay::remember_places(const JobState& job) {
  if (job.workers.empty()) return;
  std::vector<NodeId>& nodes = places_[{job.id, job.attempt}];
  nodes.clear();
  for (const WorkerState& worker : job.workers) nodes.push_back(worker.place.node);
  if (places_.size() > kMaxPlaces) places_.erase(places_.begin());
}

void LogRelay::on_jobs_changed(const View& view, const std::set<JobId>& jobs) {
  for (const JobId id : jobs) {
    const auto job = view.state.jobs.find(id);
    if (job != view.state.jobs.end()) remember_places(job->second);
  }
  std::vector<uint64_t> concerned;
  for (const auto& [number, reader] : readers_) {
    if (jobs.count(reader.job) != 0) concerned.push_back(number);
  }
  for (const uint64_t number : concerned) advance(view, readers_.at(number));
}

void LogRelay::on_connections_changed(const View& view) {
  std::vector<uint64_t> numbers;
  for (auto& [number, reader] : readers_) {
    for (Lane& lane : reader.lanes) {
      if (lane.request == 0 || lane.request == kResting || lane.at_archive) continue;
      if (!agents_.find(lane.connection)) stop_asking(lane);
    }
    numbers.push_back(number);
  }
  for (const uint64_t number : numbers) advance(view, readers_.at(number));
}

void LogRelay::on_tick(const View& view) {
  probe_.agents.set(static_cast<double>(agents_.all().size()));
  std::vector<uint64_t> numbers;
  for (auto& [number, reader] : readers_) {
    for (Lane& lane : reader.lanes) {
      if (lane.request == kResting) lane.request = 0;
    }
    numbers.push_back(number);
  }
  for (const uint64_t number : numbers) {
    Reader& reader = readers_.at(number);
    const auto job = view.state.jobs.find(reader.job);
    for (Lane& lane : reader.lanes) {
      if (job != view.state.jobs.end()) leave_quiet_archive(view, job->second, lane);
    }
    const bool stuck = reader.buffered > 0 &&
                       view.now - reader.last_taken > options_.slow_reader_timeout;
    if (stuck) {
      probe_.cut_readers.add();
      end(number, resource_exhausted("the client took no output for " +
                                     to_text(options_.slow_reader_timeout) +
                                     "; read on from the last offset"));
    } else {
      advance(view, reader);
    }
  }
}

}  // namespace keiko::server
