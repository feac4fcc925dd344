#include "agent/log_shipper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/text.h"

namespace keiko::agent {
namespace {

/// Without inotify the files are looked at this often; with it, now and then, as a safeguard.
constexpr std::chrono::milliseconds kLookBlind{100};
constexpr std::chrono::seconds kLookAnyway{5};
constexpr std::chrono::minutes kScanEvery{10};
constexpr std::chrono::seconds kScanEveryWhenShort{2};

std::chrono::nanoseconds span(Duration duration) { return std::chrono::nanoseconds(duration.ns); }

}  // namespace

LogShipper::LogShipper(LogShipOptions options, const MakeLogShipLink& make_link,
                       std::function<void()> on_shipped)
    : options_(std::move(options)),
      on_shipped_(std::move(on_shipped)),
      wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      watch_(options_.logs_dir),
      redial_(options_.redial_first),
      link_(make_link(*this)),
      thread_([this] { run(); }) {}

LogShipper::~LogShipper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  thread_.join();
  link_.reset();
  if (wake_fd_ >= 0) close(wake_fd_);
}

void LogShipper::set_live(const WorkerKey& key, bool live) {
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back({key, live});
    moving_.insert(key);
  }
  wake();
}

void LogShipper::set_short_of_room(bool is_short) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(short_of_room_, is_short) == is_short) return;
  }
  wake();
}

void LogShipper::adopt() {
  {
    const std::lock_guard lock(mutex_);
    adopt_wanted_ = true;
  }
  wake();
}

bool LogShipper::is_shipping(const WorkerKey& key) {
  const std::lock_guard lock(mutex_);
  return takes_ && moving_.count(key) != 0;
}

void LogShipper::on_ship_opened() {
  {
    const std::lock_guard lock(mutex_);
    opened_ = true;
  }
  wake();
}

void LogShipper::on_receipt(LogReceipt receipt) {
  {
    const std::lock_guard lock(mutex_);
    receipts_.push_back(std::move(receipt));
  }
  wake();
}

void LogShipper::on_ship_closed(Error why) {
  log_debug("log_call_closed", why.text());
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  wake();
}

void LogShipper::wake() {
  const uint64_t one = 1;
  const ssize_t put = write(wake_fd_, &one, sizeof(one));
  (void)put;  // full: it is awake already
}

// ---- the thread ----

void LogShipper::run() {
  for (;;) {
    wait();
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    take_call_change();
    take_orders();
    take_receipts();
    look_at_files();
    dial_if_due();
    send_what_fits();
    mark_complete();
    publish();
  }
}

void LogShipper::wait() {
  const auto now = Steady::now();
  const bool gathering = now < look_at_;  // more growth is no news before
  auto until = gathering ? look_at_ : look_at_all_;
  if (call_ == Call::kClosed && !state_.empty()) until = std::min(until, dial_at_);
  if (!paused_.empty()) until = std::min(until, ask_at_);
  const auto left = std::max(until - now, Steady::duration::zero());
  const auto count = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
  const timespec limit{count / 1'000'000'000, count % 1'000'000'000};
  pollfd fds[2] = {{wake_fd_, POLLIN, 0}, {gathering ? -1 : watch_.fd(), POLLIN, 0}};
  ppoll(fds, 2, &limit, nullptr);
  uint64_t count_of_wakes = 0;
  const ssize_t got = read(wake_fd_, &count_of_wakes, sizeof(count_of_wakes));
  (void)got;
}

void LogShipper::take_orders() {
  std::vector<Liveness> orders;
  bool adopt_now = false;
  bool is_short = false;
  {
    const std::lock_guard lock(mutex_);
    orders.swap(orders_);
    adopt_now = std::exchange(adopt_wanted_, false);
    is_short = short_of_room_;
  }
  for (const Liveness& order : orders) {
    for (const LogStream stream : {LogStream::kOut, LogStream::kErr}) {
      const LogName name{order.key, stream};
      state_.set_size(name, size_of(name), !order.live);
    }
    if (order.live) {
      live_.insert(order.key);
      watch_.add(order.key);
    } else {
      live_.erase(order.key);
    }
  }
  const auto now = Steady::now();
  keep_ = is_short ? Duration{} : options_.keep;
  const bool first_short = is_short && !was_short_;
  was_short_ = is_short;
  if (!adopt_now && !first_short && now < scan_at_) return;
  if (adopt_now || first_short || scan_at_ != Steady::time_point{}) scan_folder();
  scan_at_ = now + (is_short ? kScanEveryWhenShort : kScanEvery);
}

void LogShipper::take_receipts() {
  std::vector<LogReceipt> receipts;
  {
    const std::lock_guard lock(mutex_);
    receipts.swap(receipts_);
  }
  for (const LogReceipt& receipt : receipts) {
    state_.take(receipt);
    if (!state_.knows(receipt.name)) continue;
    redial_ = options_.redial_first;
  }
  const auto now = Steady::now();
  if (state_.paused() != paused_) {
    if (paused_.empty()) {
      log_warn("logs_paused", "why=" + quote_text(state_.paused()) +
                                  " effect=\"they stay on this node for now\"");
      ask_at_ = now + span(options_.ask_again);
    } else if (state_.paused().empty()) {
      log_info("logs_resumed");
    }
    paused_ = state_.paused();
  }
  if (paused_.empty() || now < ask_at_) return;
  ask_at_ = now + span(options_.ask_again);
  state_.try_again();
}

void LogShipper::take_call_change() {
  bool opened = false;
  bool closed = false;
  {
    const std::lock_guard lock(mutex_);
    opened = std::exchange(opened_, false);
    closed = std::exchange(closed_, false);
    if (closed) receipts_.clear();
  }
  if (opened) {
    call_ = Call::kOpen;
    told_closed_ = false;
    state_.set_open(true);
  }
  if (!closed) return;
  if (!told_closed_) log_info("logs_wait", "why=\"no call to the server\"");
  told_closed_ = true;
  call_ = Call::kClosed;
  state_.set_open(false);
  dial_at_ = Steady::now() + span(redial_);
  redial_ = std::min(redial_ * 2, options_.redial_most);
}

void LogShipper::look_at_files() {
  const auto now = Steady::now();
  if (now < look_at_) return;
  LogWatch::News news = watch_.take();
  if (news.lost || now >= look_at_all_) {
    look_at_all_ = now + (watch_.fd() < 0 ? Steady::duration(kLookBlind) : kLookAnyway);
    for (const WorkerKey& key : live_) {
      news.grown.insert({key, LogStream::kOut});
      news.grown.insert({key, LogStream::kErr});
    }
  }
  if (news.grown.empty()) return;
  for (const LogName& name : news.grown) {
    if (state_.knows(name)) state_.set_size(name, size_of(name), false);
  }
  look_at_ = now + span(options_.gather);
}

void LogShipper::dial_if_due() {
  if (call_ != Call::kClosed || state_.empty() || Steady::now() < dial_at_) return;
  call_ = Call::kDialled;
  link_->open(options_.server);
}

void LogShipper::send_what_fits() {
  while (call_ == Call::kOpen) {
    const std::optional<logship::ShipOrder> order = state_.next();
    if (!order || !send(*order)) return;
  }
}

/// RETURNS: false if the call is gone; its end is on the way.
bool LogShipper::send(const logship::ShipOrder& order) {
  LogShipment shipment;
  shipment.name = order.name;
  shipment.offset = order.offset;
  shipment.ended = order.ended;
  if (order.count > 0) {
    const std::string path = path_of(order.name);
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    shipment.data.resize(static_cast<size_t>(order.count));
    const ssize_t got = fd < 0 ? -1 : pread(fd, shipment.data.data(), shipment.data.size(),
                                            order.offset);
    const int error = errno;
    if (fd >= 0) close(fd);
    if (got != order.count) {
      log_warn("log_unreadable", "file=" + quote_text(path) + " why=" +
                                     quote_text(got < 0 ? errno_error("read", error).message
                                                        : "it became shorter"));
      state_.drop(order.name);
      return true;
    }
  }
  return link_->send(std::move(shipment)).ok();
}

void LogShipper::mark_complete() {
  for (const LogName& name : state_.take_complete()) {
    const bool out = state_.knows({name.worker, LogStream::kOut});
    const bool err = state_.knows({name.worker, LogStream::kErr});
    if (out || err) continue;
    if (!has_live(name.worker)) watch_.remove(name.worker);
    const std::string mark = options_.logs_dir + "/" + log_path(name);
    const int fd = open((mark.substr(0, mark.rfind('.')) + ".shipped").c_str(),
                        O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd >= 0) close(fd);
  }
}

/// Ranks of one attempt share a watch.
bool LogShipper::has_live(const WorkerKey& of_attempt) const {
  return std::any_of(live_.begin(), live_.end(), [&](const WorkerKey& key) {
    return key.job == of_attempt.job && key.attempt == of_attempt.attempt;
  });
}

/// Tells the other threads what is_shipping() needs.
void LogShipper::publish() {
  bool fewer = false;
  {
    const std::lock_guard lock(mutex_);
    const bool takes = call_ == Call::kOpen && paused_.empty();
    fewer = takes_ && !takes;
    takes_ = takes;
    std::set<WorkerKey> waiting;
    for (const Liveness& order : orders_) waiting.insert(order.key);
    const size_t removed = std::erase_if(moving_, [&](const WorkerKey& key) {
      return waiting.count(key) == 0 && !state_.knows({key, LogStream::kOut}) &&
             !state_.knows({key, LogStream::kErr});
    });
    fewer = fewer || removed > 0;
  }
  if (fewer) on_shipped_();
}

int64_t LogShipper::size_of(const LogName& name) const {
  struct stat status {};
  return stat(path_of(name).c_str(), &status) == 0 ? status.st_size : 0;
}

std::string LogShipper::path_of(const LogName& name) const {
  return options_.logs_dir + "/" + log_path(name);
}

}  // namespace keiko::agent
