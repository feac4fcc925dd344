#include "train/loop/reducer.h"

#include "base/check.h"

namespace keiko::train {

GradientReducer::GradientReducer(ParameterArena& arena, Collective& collective, Bytes bucket_size)
    : arena_(arena), collective_(collective), bucket_of_(arena.size()) {
  if (collective_.world() == 1) return;
  cut_buckets(bucket_size);
  for (size_t i = 0; i < arena_.size(); ++i) {
    hooks_.push_back(on_gradient_ready(arena_.at(i), [this, i] { on_ready(bucket_of_[i]); }));
  }
  comm_thread_ = std::thread([this] { comm_loop(); });
}

GradientReducer::~GradientReducer() {
  armed_ = false;  // the hooks outlive us inside autograd; they must find nothing to do
  if (!comm_thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  comm_thread_.join();
}

void GradientReducer::cut_buckets(Bytes bucket_size) {
  const int64_t floats = bucket_size.count / static_cast<int64_t>(sizeof(float));
  Bucket bucket{0, arena_.begin(arena_.size()), 0, 0};
  for (size_t i = arena_.size(); i-- > 0;) {
    bucket.begin = arena_.begin(i);
    ++bucket.parameters;
    bucket_of_[i] = buckets_.size();
    if (bucket.end - bucket.begin < floats && i > 0) continue;
    buckets_.push_back(bucket);
    bucket = Bucket{0, bucket.begin, 0, 0};
  }
}

void GradientReducer::begin_step() {
  for (Bucket& bucket : buckets_) bucket.missing = bucket.parameters;
  next_bucket_ = 0;
  armed_ = true;
}

void GradientReducer::on_ready(size_t bucket) {
  if (!armed_) return;
  --buckets_[bucket].missing;
  launch_ready();
}

void GradientReducer::launch_ready() {
  while (next_bucket_ < buckets_.size() && buckets_[next_bucket_].missing <= 0) {
    const Bucket& bucket = buckets_[next_bucket_++];
    const std::span<float> part = arena_.gradients().subspan(
        static_cast<size_t>(bucket.begin), static_cast<size_t>(bucket.end - bucket.begin));
    enqueue([this, part] {
      return collective_.all_reduce({part.data(), part.size(), ElementType::kF32},
                                    ReduceOp::kSum);
    });
  }
}

Done GradientReducer::finish_step(std::span<double> numbers) {
  armed_ = false;
  if (collective_.world() == 1) return done();
  for (Bucket& bucket : buckets_) bucket.missing = 0;
  launch_ready();
  CHECK(next_bucket_ == buckets_.size());
  enqueue([this, numbers] {
    return collective_.all_reduce({numbers.data(), numbers.size(), ElementType::kF64},
                                  ReduceOp::kSum);
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return unfinished_ == 0; });
  if (failure_) return *failure_;
  return done();
}

void GradientReducer::enqueue(std::function<Done()> work) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  ++unfinished_;
  changed_.notify_all();
}

void GradientReducer::comm_loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::function<Done()> work = std::move(queue_.front());
    queue_.pop_front();
    if (!failure_) {
      lock.unlock();
      const Done outcome = work();
      lock.lock();
      if (!outcome.ok() && !failure_) failure_ = outcome.error();
    }
    --unfinished_;
    changed_.notify_all();
  }
}

}  // namespace keiko::train
