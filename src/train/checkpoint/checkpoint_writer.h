// CheckpointWriter: writes checkpoints while training goes on.
//
// The thread that trains copies the state into the writer's image, which is the consistent cut; a
// thread of the writer makes it a durable file and then says so. One is in flight at most: a second
// one waits for the first, so that no checkpoint is left out and memory holds one copy. begin(),
// wait() and take_written() belong to the thread that trains.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "train/checkpoint/checkpoint_store.h"

namespace keiko::train {

/// The sections of a checkpoint, by value. Reused from one to the next: its memory stays.
using CheckpointImage = Sections;

/// What became of one checkpoint.
struct WrittenCheckpoint {
  int64_t step = 0;
  Result<std::string> path = std::string();  ///< or why there is none; older ones still stand
  double stall_s = 0;                        ///< for how long training stood still
  double write_s = 0;                        ///< from the copy to the durable file
};

class CheckpointWriter {
 public:
  /// Called on the writer's thread once the file is durable, before it counts as written.
  using OnDurable = std::function<void(int64_t step, const std::string& path)>;

  CheckpointWriter(const CheckpointStore& store, OnDurable on_durable);
  /// Finishes what is in flight.
  ~CheckpointWriter();

  /// Waits for the one in flight, lets `copy` fill the image and returns while it is written.
  void begin(int64_t step, const std::function<void(CheckpointImage&)>& copy);

  /// Returns when nothing is in flight.
  void wait();

  /// RETURNS: what was finished since the last call, oldest first.
  std::vector<WrittenCheckpoint> take_written();

 private:
  void run();

  const CheckpointStore store_;
  const OnDurable on_durable_;
  CheckpointImage image_;  ///< the thread's while `in_flight_`, else the caller's
  std::mutex mutex_;
  std::condition_variable changed_;
  WrittenCheckpoint current_;
  bool in_flight_ = false;
  bool stopping_ = false;
  std::vector<WrittenCheckpoint> written_;
  std::thread thread_;
};

}  // namespace keiko::train
