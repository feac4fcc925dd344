#include "agent/attach/attach_desk.h"

#include "base/log.h"

namespace keiko::agent {
namespace {

/// Each has three descriptors and a thread or two, and a client that opens more has lost count.
constexpr size_t kMostSittings = 64;

}  // namespace

AttachDesk::~AttachDesk() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    for (Sitting& sitting : sittings_) {
      if (sitting.call) sitting.call->cancel();
    }
  }
  for (Sitting& sitting : sittings_) sitting.thread.join();
}

void AttachDesk::serve(v1::AttachOrder order) {
  const std::lock_guard lock(mutex_);
  sweep_locked();
  if (sittings_.size() >= kMostSittings) {
    return log_warn("attach_refused", "sessions=" + std::to_string(sittings_.size()));
  }
  Sitting& sitting = sittings_.emplace_back();
  sitting.thread = std::thread([this, &sitting, order = std::move(order)] {
    std::unique_ptr<AttachCall> call = dial_();  // which may take seconds
    {
      const std::lock_guard guard(mutex_);
      sitting.call = std::move(call);
      if (closing_) sitting.call->cancel();
    }
    serve_attach(*sitting.call, door_, order);
    const Done finished = sitting.call->finish();
    if (!finished.ok()) log_debug("attach_call_ended", finished.error().text());
    const std::lock_guard guard(mutex_);
    sitting.over = true;
  });
}

void AttachDesk::sweep_locked() {
  for (auto sitting = sittings_.begin(); sitting != sittings_.end();) {
    if (!sitting->over) {
      ++sitting;
      continue;
    }
    sitting->thread.join();
    sitting = sittings_.erase(sitting);
  }
}

}  // namespace keiko::agent
