#include "agent/attach/attach_desk.h"

#include "base/log.h"

namespace keiko::agent {
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
  const bool welcome = sittings_.size() < kMostSittings;
  if (!welcome) log_warn("attach_refused", "sessions=" + std::to_string(sittings_.size()));
  if (sittings_.size() >= 2 * kMostSittings) return;
  Sitting& sitting = sittings_.emplace_back();
  sitting.thread = std::thread([this, &sitting, welcome, order = std::move(order)] {
    sit(sitting, order, welcome);
  });
}

void AttachDesk::sit(Sitting& sitting, const v1::AttachOrder& order, bool welcome) {
  std::unique_ptr<AttachCall> call = dial_();  // which may take seconds
  {
    const std::lock_guard guard(mutex_);
    sitting.call = std::move(call);
    if (closing_) sitting.call->cancel();
  }
  if (welcome) {
    serve_attach(*sitting.call, door_, order);
  } else {
    refuse_attach(*sitting.call, order, resource_exhausted(
        "the node has " + std::to_string(kMostSittings) + " commands and connections of keiko "
        "exec, shell, cp and port-forward open, which is the most; end some and try again"));
  }
  const Done finished = sitting.call->finish();
  if (!finished.ok()) log_debug("attach_call_ended", finished.error().text());
  const std::lock_guard guard(mutex_);
  sitting.over = true;
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
