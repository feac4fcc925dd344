#include "train/checkpoint/checkpoint_writer.h"

#include <chrono>

namespace keiko::train {
namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

CheckpointWriter::CheckpointWriter(const CheckpointStore& store, OnDurable on_durable)
    : store_(store), on_durable_(std::move(on_durable)), thread_([this] { run(); }) {}

CheckpointWriter::~CheckpointWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void CheckpointWriter::begin(int64_t step, const std::function<void(CheckpointImage&)>& copy) {
  const double begin = now_seconds();
  wait();
  copy(image_);
  const std::lock_guard lock(mutex_);
  current_ = WrittenCheckpoint{};
  current_.step = step;
  current_.stall_s = now_seconds() - begin;
  in_flight_ = true;
  changed_.notify_all();
}

void CheckpointWriter::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !in_flight_; });
}

std::vector<WrittenCheckpoint> CheckpointWriter::take_written() {
  const std::lock_guard lock(mutex_);
  return std::exchange(written_, {});
}

void CheckpointWriter::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || in_flight_; });
    if (!in_flight_) return;
    WrittenCheckpoint written = current_;
    lock.unlock();
    const double begin = now_seconds();
    std::vector<SectionView> sections;
    for (const auto& [name, bytes] : image_) sections.push_back({name, bytes});
    written.path = store_.save(written.step, sections);
    written.write_s = now_seconds() - begin;
    if (written.path.ok()) on_durable_(written.step, *written.path);
    lock.lock();
    written_.push_back(std::move(written));
    in_flight_ = false;
    changed_.notify_all();
  }
}

}  // namespace keiko::train
