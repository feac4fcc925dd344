// GradientReducer: sums the gradients of all ranks while the backward pass still runs.
//
// The gradient arena is cut into buckets from its end to its beginning, the order in which a
// backward pass completes them. A hook per parameter marks its bucket; whole buckets go to one
// communication thread, strictly in bucket order whatever the order of completion, so that every
// rank issues the same operations. All calls come from the one thread that trains.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "ports/collective.h"
#include "train/model/arena.h"

namespace keiko::train {

class GradientReducer {
 public:
  /// Hooks into the parameters of `arena`; both references must outlive this. `bucket_size` is the
  /// least that one all-reduce carries (the last may be smaller).
  GradientReducer(ParameterArena& arena, Collective& collective, Bytes bucket_size);
  ~GradientReducer();

  /// Call before each backward pass.
  void begin_step();

  /// Call after it: reduces what is left (parameters that this pass did not touch), then sums
  /// `numbers` over all ranks, and waits for everything.
  /// RETURNS: the first error of the generation; gradients are then worthless.
  Done finish_step(std::span<double> numbers);

  size_t bucket_count() const { return buckets_.size(); }

 private:
  struct Bucket {
    int64_t begin = 0;
    int64_t end = 0;
    int parameters = 0;  ///< how many complete it
    int missing = 0;     ///< how many have not reported in this pass
  };

  void cut_buckets(Bytes bucket_size);
  void on_ready(size_t bucket);
  void launch_ready();
  void enqueue(std::function<Done()> work);
  void comm_loop();

  ParameterArena& arena_;
  Collective& collective_;
  std::vector<Bucket> buckets_;
  std::vector<size_t> bucket_of_;
  std::vector<std::shared_ptr<void>> hooks_;
  bool armed_ = false;
  size_t next_bucket_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<Done()>> queue_;
  size_t unfinished_ = 0;
  std::optional<Error> failure_;
  bool stopping_ = false;
  std::thread comm_thread_;
};

}  // namespace keiko::train
