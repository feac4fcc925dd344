#include "ports/collective_fake.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>

#include "base/check.h"

namespace keiko {
namespace {

/// What one rank brought to the operation in progress.
struct Arrival {
  std::string request;
  CollectiveBuffer buffer;
  void* all = nullptr;
};

/// The meeting place of all ranks of one generation. Thread-safe.
class FakeGroup {
 public:
  explicit FakeGroup(const FakeCollectiveOptions& options)
      : options_(options), arrivals_(static_cast<size_t>(options.world)) {}

  int world() const { return options_.world; }

  using Work = std::function<void(std::vector<Arrival>&)>;

  /// Waits until every rank has arrived with the same request; the last one does `work`.
  Done meet(int rank, Arrival arrival, const Work& work) {
    std::unique_lock lock(mutex_);
    if (failure_) return *failure_;
    const uint64_t round = round_;
    arrivals_[static_cast<size_t>(rank)] = std::move(arrival);
    if (++arrived_ == options_.world) {
      finish_round(work);
    } else {
      const auto limit = std::chrono::nanoseconds(options_.op_timeout.ns);
      const bool woken = changed_.wait_for(lock, limit, [&] {
        return failure_.has_value() || round_ != round;
      });
      if (!woken) {
        fail(deadline_exceeded("rank " + std::to_string(rank) + " waited " +
                               to_text(options_.op_timeout) + " for " +
                               std::to_string(options_.world - arrived_) + " other ranks"));
      }
    }
    if (round_ == round && failure_) return *failure_;
    return done();
  }

  void abort(Error error) {
    const std::lock_guard lock(mutex_);
    fail(std::move(error));
  }

 private:
  void finish_round(const Work& work) {
    for (int rank = 1; rank < options_.world; ++rank) {
      const std::string& other = arrivals_[static_cast<size_t>(rank)].request;
      if (other == arrivals_[0].request) continue;
      return fail(failed_precondition("ranks disagree: rank 0 asked for " + arrivals_[0].request +
                                      ", rank " + std::to_string(rank) + " for " + other));
    }
    work(arrivals_);
    arrived_ = 0;
    ++round_;
    changed_.notify_all();
  }

  void fail(Error error) {
    if (!failure_) failure_ = std::move(error);
    changed_.notify_all();
  }

  const FakeCollectiveOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Arrival> arrivals_;
  int arrived_ = 0;
  uint64_t round_ = 0;
  std::optional<Error> failure_;
};

class FakeCollective : public Collective {
 public:
  FakeCollective(std::shared_ptr<FakeGroup> group, int rank)
      : group_(std::move(group)), rank_(rank) {}

  ~FakeCollective() override {
    group_->abort(unavailable("rank " + std::to_string(rank_) + " left the group"));
  }

  int rank() const override { return rank_; }
  int world() const override { return group_->world(); }

  Done all_reduce(const CollectiveBuffer& buffer, ReduceOp op) override {
    return group_->meet(rank_, {describe_all_reduce(buffer, op), buffer},
                        [op](std::vector<Arrival>& ranks) { reduce_all(ranks, op); });
  }

  Done broadcast(const CollectiveBuffer& buffer, int root) override {
    CHECK(root >= 0 && root < world());
    return group_->meet(rank_, {describe_broadcast(buffer, root), buffer},
                        [root](std::vector<Arrival>& ranks) { copy_from(ranks, root); });
  }

  Done all_gather(const CollectiveBuffer& mine, void* all) override {
    return group_->meet(rank_, {describe_all_gather(mine), mine, all}, gather_all);
  }

  Done barrier() override {
    return group_->meet(rank_, {"barrier", {}}, [](std::vector<Arrival>&) {});
  }

  void abort(std::string_view reason) override {
    group_->abort({Code::kAborted,
                   "rank " + std::to_string(rank_) + " aborted: " + std::string(reason), {}});
  }

 private:
  static void reduce_all(std::vector<Arrival>& ranks, ReduceOp op) {
    const CollectiveBuffer& first = ranks[0].buffer;
    std::vector<const void*> parts;
    for (const Arrival& rank : ranks) parts.push_back(rank.buffer.address);
    reduce_parts(first.address, parts, first.count, first.type, op);
    copy_from(ranks, 0);
  }

  static void copy_from(std::vector<Arrival>& ranks, int root) {
    const CollectiveBuffer& from = ranks[static_cast<size_t>(root)].buffer;
    if (from.size_bytes() == 0) return;
    for (Arrival& rank : ranks) {
      if (rank.buffer.address == from.address) continue;
      std::memcpy(rank.buffer.address, from.address, from.size_bytes());
    }
  }

  static void gather_all(std::vector<Arrival>& ranks) {
    const size_t size = ranks[0].buffer.size_bytes();
    if (size == 0) return;
    for (Arrival& to : ranks) {
      char* out = static_cast<char*>(to.all);
      for (const Arrival& from : ranks) {
        std::memcpy(out, from.buffer.address, size);
        out += size;
      }
    }
  }

  std::shared_ptr<FakeGroup> group_;
  int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Collective>> make_fake_collectives(
    const FakeCollectiveOptions& options) {
  CHECK(options.world >= 1);
  auto group = std::make_shared<FakeGroup>(options);
  std::vector<std::unique_ptr<Collective>> ranks;
  for (int rank = 0; rank < options.world; ++rank) {
    ranks.push_back(std::make_unique<FakeCollective>(group, rank));
  }
  return ranks;
}

}  // namespace keiko
