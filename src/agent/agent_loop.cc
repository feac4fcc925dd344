#include "agent/agent_loop.h"

#include <poll.h>
#include <time.h>

#include <algorithm>

#include "agent/health/known_devices.h"
#include "agent/machine.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/text.h"
#include "wire/utf8.h"

namespace keiko::agent {
namespace {

/// The workers are looked at this often even if the substrate says nothing: what it cannot watch
/// shows only so.
constexpr Duration kLookEvery = seconds(1);
/// ... and this often if the substrate has no descriptor to wait on.
constexpr Duration kLookBlind = milliseconds(20);
/// How long a leaving agent waits for the server to hear of its workers' ends.
constexpr Duration kLastWords = seconds(1);
constexpr size_t kLastWordsBytes = 2048;

WorkerReport report_of(const ProcessState& state) {
  WorkerReport report;
  report.key = state.key;
  report.status = state.status;
  report.pid = state.pid;
  report.master_port = state.master_port;
  report.end = state.end;
  // Programs say any bytes; reports are text.
  std::string words = clean_utf8(state.end.last_words);
  words.resize(words.size() > kLastWordsBytes
                   ? valid_utf8_prefix(std::string_view(words).substr(0, kLastWordsBytes))
                   : words.size());
  report.end.last_words = std::move(words);
  return report;
}

/// Silence after which a stream is taken for dead, so that a lease can still be renewed over the
/// next one: the server answers every report.
Duration silence_limit(const LeaseOptions& lease) {
  return std::max(lease.lease / 2 - lease.heartbeat, lease.heartbeat * 2);
}

/// A node works as well if nobody can tell what its machine is.
void add_host(Host* host, NodeSpec& spec) {
  if (host == nullptr) return;
  const auto look = [&]() -> Done {
    spec.host = TRY(host->fingerprint());
    return validate(spec);
  };
  const Done told = look();
  if (told.ok()) return;
  spec.host.reset();
  log_warn("host_unknown", "reason=" + quote_text(told.error().message));
}

/// The clock that the kernel's log counts by, near enough.
int64_t kernel_clock_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000 + now.tv_nsec / 1000;
}

bool is_live(const ProcessState& state) { return state.status != WorkerStatus::kEnded; }

}  // namespace

Result<std::unique_ptr<AgentLoop>> AgentLoop::open(AgentOptions options, AgentParts parts) {
  KnownDevices known =
      know_devices(parts.folder, boot_id(), TRY(parts.devices.fingerprint()));
  NodeSpec spec =
      TRY(describe_machine(options, parts.folder.instance(), std::move(known.inventory)));
  add_host(parts.host, spec);
  std::unique_ptr<AgentLoop> loop(
      new AgentLoop(std::move(options), std::move(parts), std::move(spec)));
  TRY(loop->prepare(std::move(known.missing)));
  return loop;
}

AgentLoop::AgentLoop(AgentOptions options, AgentParts parts, NodeSpec spec)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      brain_(std::move(spec), LeaseOptions{}),
      prng_(digest_of(parts_.folder.instance()).bits),
      redial_(options_.redial_first) {}

AgentLoop::~AgentLoop() {
  // The reader sends over the link and the link's thread starts reads: the reader goes first, and
  // what the link still asks for then finds none.
  std::unique_ptr<LogReader> reader;
  {
    const std::lock_guard lock(logs_mutex_);
    reader = std::move(logs_);
  }
  reader.reset();
  checks_.reset();  // its lanes wake the inbox
  shipper_.reset();
  link_.reset();
  desk_.reset();
}

Done AgentLoop::prepare(std::set<std::string> missing) {
  inbox_ = TRY(Inbox::open(options_.queue_limit));
  sockets_ = TRY(WorkerSockets::open([this] { inbox_->wake(); }));
  if (parts_.door != nullptr) {
    desk_ = std::make_unique<AttachDesk>(
        *parts_.door, [server = options_.server] { return dial_agent_attach(server); });
  }
  link_ = parts_.make_link(*this);
  logs_ = std::make_unique<LogReader>(
      parts_.folder.path(), [this](const LogChunk& chunk) { return link_->send(chunk); });
  health_ = std::make_unique<HealthWatch>(
      HealthSources{parts_.folder, parts_.devices, parts_.kernel_log, &kernel_clock_us,
                    [this] { return parts_.folder.room(); }, options_.disk_floor,
                    std::move(missing)},
      spec(), parts_.clock.now());
  if (parts_.make_checks) {
    checks_ = std::make_unique<CheckDesk>(
        CheckParts{parts_.make_checks, *health_, parts_.folder.path(), [this] { inbox_->wake(); }},
        options_.checks, spec(), parts_.clock.now());
  }
  if (parts_.make_ship_link) {
    LogShipOptions options;
    options.server = options_.server;
    options.logs_dir = parts_.folder.path() + "/logs";
    options.keep = options_.log_keep;
    shipper_ = std::make_unique<LogShipper>(std::move(options), parts_.make_ship_link,
                                            [this] { inbox_->wake(); });
  }
  adopt();
  if (shipper_) shipper_->adopt();
  return done();
}

/// Workers that an earlier agent started, ended ones included. Sockets come first: a worker that
/// lost its agent dials again at once.
void AgentLoop::adopt() {
  node::Adopted adopted;
  for (const ProcessState& state : parts_.substrate.poll()) {
    adopted.workers.push_back(report_of(state));
    known_[state.key] = state;
    if (!is_live(state)) continue;
    set_logs_live(state.key, true);
    if (checks_) checks_->adopt(state.key);
    const WorkerPaths paths = worker_paths(parts_.folder.path(), state.key);
    const Done listening = sockets_->listen(state.key, paths.socket);
    if (!listening.ok()) log_warn("worker_socket_failed", listening.error().text());
  }
  if (const auto left = parts_.substrate.lease_left()) {
    adopted.lease_end = parts_.clock.now() + *left;
  }
  last_look_ = parts_.clock.now();
  log_info("agent_started", "name=" + spec().name + " address=" + spec().address +
                                " devices=" + std::to_string(spec().devices.size()) +
                                " adopted=" + std::to_string(adopted.workers.size()));
  feed(std::move(adopted));
}

// ---- of the link's thread ----

void AgentLoop::on_connected() { inbox_->post(LinkUp{}); }

void AgentLoop::on_message(ServerMessage message) {
  if (inbox_->post(std::move(message))) return;
  overflowed_ = true;
  inbox_->wake();
}

void AgentLoop::on_log_read(LogRead read) {
  const std::lock_guard lock(logs_mutex_);
  if (logs_) logs_->start(std::move(read));
}

void AgentLoop::on_log_cancel(uint64_t request) {
  const std::lock_guard lock(logs_mutex_);
  if (logs_) logs_->cancel(request);
}

void AgentLoop::on_attach(v1::AttachOrder order) {
  if (desk_) desk_->serve(std::move(order));
}

void AgentLoop::on_closed(Error why) { inbox_->post(LinkDown{std::move(why)}); }

void AgentLoop::stop(bool take_workers) { inbox_->post(StopOrder{take_workers}); }

// ---- the loop ----

Done AgentLoop::run() {
  while (turn(seconds(1))) {
  }
  link_->close();
  if (quit_why_.empty()) return done();
  return failed_precondition("the server at " + options_.server + " refused this agent: " +
                             quit_why_);
}

bool AgentLoop::turn(Duration at_most) {
  wait(at_most);
  take_posts();
  take_news();
  take_checks();
  look_at_workers();
  look_at_health();
  tell_ends();
  if (wake_at_ && *wake_at_ <= parts_.clock.now()) {
    wake_at_.reset();
    feed(node::Wake{});
  }
  keep_link();
  return !is_over();
}

void AgentLoop::wait(Duration at_most) {
  const Time now = parts_.clock.now();
  const int workers_fd = parts_.substrate.wake_fd();
  Duration left = std::min(at_most, workers_fd < 0 ? kLookBlind : kLookEvery);
  if (wake_at_) left = std::min(left, *wake_at_ - now);
  left = std::min(left, health_look_ + kLookEvery - now);
  if (link_status_ == LinkStatus::kClosed && !stopping_) left = std::min(left, dial_at_ - now);
  for (const auto& [key, until] : held_ends_) left = std::min(left, until - now);
  if (look_now_) left = Duration{};
  left = std::max(left, Duration{});
  pollfd fds[2] = {{inbox_->fd(), POLLIN, 0}, {workers_fd, POLLIN, 0}};
  const timespec limit{left.ns / 1'000'000'000, left.ns % 1'000'000'000};
  ppoll(fds, 2, &limit, nullptr);
  if (workers_fd < 0 || (fds[1].revents & POLLIN) != 0) look_now_ = true;
}

void AgentLoop::take_posts() {
  for (const Post& post : inbox_->take()) {
    std::visit([this](const auto& body) { take(body); }, post);
  }
  if (!overflowed_.exchange(false) || link_closing_) return;
  log_warn("server_messages_lost",
           "why=" + quote_text("more than " + std::to_string(options_.queue_limit) +
                               " waited; the stream is opened anew"));
  link_closing_ = true;
  link_->close();
}

void AgentLoop::take(const LinkUp& /*post*/) {
  link_status_ = LinkStatus::kOpen;
  last_heard_ = parts_.clock.now();
  log_info("server_connected", "server=" + options_.server);
  unreachable_told_ = false;
  feed(node::Connected{});
  // Behind the hello that Connected led to: the server must know whose health it is.
  static_cast<void>(link_->send(health_->report()));
}

void AgentLoop::take(const LinkDown& post) {
  if (!unreachable_told_) log_warn("server_unreachable", post.why.text());
  unreachable_told_ = true;
  const bool was_open = link_status_ == LinkStatus::kOpen;
  link_status_ = LinkStatus::kClosed;
  link_closing_ = false;
  logs_->drop_all();
  // A random half keeps thousands of agents from dialling a server at once that has come back.
  const Duration half = redial_ / 2;
  dial_at_ = parts_.clock.now() + half + nanoseconds(prng_.between(0, half.ns));
  redial_ = std::min(redial_ * 2, options_.redial_most);
  if (was_open) feed(node::Disconnected{});
}

void AgentLoop::take(const ServerMessage& post) {
  last_heard_ = parts_.clock.now();
  if (std::holds_alternative<Welcome>(post.body)) redial_ = options_.redial_first;
  feed(node::FromServer{post});
}

void AgentLoop::take(const StopOrder& post) {
  if (stopping_ && post.take_workers) return;
  stopping_ = true;
  taking_workers_ = post.take_workers;
  log_info("agent_stopping", post.take_workers ? "workers=stopped" : "workers=left");
  if (taking_workers_) feed(node::Leave{options_.leave_grace, "its agent stops"});
}

void AgentLoop::take_news() {
  for (const WorkerNews& news : sockets_->take()) {
    if (news.ack) {
      log_debug("worker_ack", "worker=" + to_text(news.key) + " id=" + std::to_string(*news.ack));
    }
    if (news.progress || news.checkpoint) {
      feed(node::WorkerSaid{news.key, news.progress, news.checkpoint});
    }
  }
}

void AgentLoop::look_at_workers() {
  const Time now = parts_.clock.now();
  if (!look_now_ && now - last_look_ < kLookEvery) return;
  look_now_ = false;
  last_look_ = now;
  for (const ProcessState& state : parts_.substrate.poll()) note_change(state);
}

/// A report that cannot be sent now goes with the next session.
void AgentLoop::look_at_health(bool at_once) {
  const Time now = parts_.clock.now();
  if (!at_once && now - health_look_ < kLookEvery) return;
  health_look_ = now;
  {
    const std::lock_guard lock(readings_mutex_);
    health_->take_readings(readings_, now);
    readings_.clear();
  }
  const bool changed = health_->look(now);
  if (shipper_) shipper_->set_short_of_room(health_->is_disk_low());
  if (checks_ && !stopping_) checks_->look(now);
  if (changed && link_status_ == LinkStatus::kOpen) {
    static_cast<void>(link_->send(health_->report()));
  }
}

void AgentLoop::note_change(const ProcessState& state) {
  const auto found = known_.find(state.key);
  if (found == known_.end()) return;  // never of this agent's making or adopting
  ProcessState& known = found->second;
  const bool same = known.status == state.status && known.pid == state.pid &&
                    known.master_port == state.master_port;
  for (size_t i = known.notes.size(); i < state.notes.size(); ++i) {
    log_warn("worker_limited", "worker=" + to_text(state.key) + " " + quote_text(state.notes[i]));
  }
  known = state;
  if (same) return;
  if (!is_live(state)) {
    // What it said last goes before its end, or a checkpoint made at the end would be lost.
    sockets_->drain(state.key);
    take_news();
    set_logs_live(state.key, false);
    const EndCause cause = state.end.cause;
    const bool exited = cause == EndCause::kExited && state.end.exit_code != 0;
    if (checks_) checks_->vacate(state.key, exited || cause == EndCause::kSignalled);
    held_ends_[state.key] = parts_.clock.now() + options_.log_flush;
    return;  // tell_ends() goes on
  }
  feed(node::WorkerChanged{report_of(state)});
}

void AgentLoop::set_logs_live(const WorkerKey& key, bool live) {
  logs_->set_live(key, live);
  if (shipper_) shipper_->set_live(key, live);
}

/// A worker's end is told once its output is durable at the server, so that who hears of the end
/// finds the output; or without it, if that takes long.
void AgentLoop::tell_ends() {
  const Time now = parts_.clock.now();
  for (auto next = held_ends_.begin(); next != held_ends_.end();) {
    const auto held = next++;
    if (shipper_ && now < held->second && shipper_->is_shipping(held->first)) continue;
    const auto known = known_.find(held->first);
    held_ends_.erase(held);
    if (known != known_.end()) feed(node::WorkerChanged{report_of(known->second)});
  }
}

void AgentLoop::keep_link() {
  const Time now = parts_.clock.now();
  if (link_status_ == LinkStatus::kClosed && !stopping_ && now >= dial_at_) {
    link_status_ = LinkStatus::kDialled;
    link_->open(options_.server);
    return;
  }
  const Duration silence = now - last_heard_;
  if (link_status_ != LinkStatus::kOpen || link_closing_) return;
  if (silence < silence_limit(brain_.lease())) return;
  log_warn("server_silent", "for=" + to_text(silence) + " effect=\"the stream is opened anew\"");
  link_closing_ = true;
  link_->close();
}

void AgentLoop::feed(node::EventBody body) {
  const node::Effects effects = brain_.step({parts_.clock.now(), std::move(body)});
  hold_lease();
  for (const node::Effect& effect : effects) {
    std::visit([this](const auto& one) { carry_out(one); }, effect);
  }
  tell_own();
}

/// What carrying out effects led to.
void AgentLoop::tell_own() {
  while (!own_events_.empty()) {
    std::vector<node::EventBody> events;
    events.swap(own_events_);
    for (node::EventBody& event : events) feed(std::move(event));
  }
}

bool AgentLoop::is_over() {
  if (!quit_why_.empty()) return true;
  if (!stopping_) return false;
  if (!taking_workers_) return true;
  if (brain_.live_count() != 0) return false;
  if (brain_.worker_count() == 0 || link_status_ != LinkStatus::kOpen) return true;
  const Time now = parts_.clock.now();
  if (!over_at_) over_at_ = now + kLastWords;
  return now >= *over_at_;
}

}  // namespace keiko::agent
