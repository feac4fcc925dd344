#include "drivers/collective/gloo/gloo_collective.h"

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

#include "base/check.h"
#include "base/digest.h"
#include "drivers/collective/gloo/tcp_store.h"

namespace keiko {
namespace {

using Clock = std::chrono::steady_clock;
using UnboundBuffer = gloo::transport::UnboundBuffer;

// Below this a buffer goes to everyone whole: one hop less, and the bytes hardly count.
constexpr size_t kSmallBytes = 4096;
// The slot of the farewell; operations count from far above.
constexpr uint64_t kFarewellSlot = 1;
constexpr auto kForever = std::chrono::hours(24 * 365);
constexpr auto kFarewellLimit = std::chrono::seconds(1);

std::chrono::milliseconds to_millis(Duration duration) {
  return std::chrono::milliseconds(std::max<int64_t>(duration.millis(), 1));
}

/// Lets gloo's rendezvous speak to our store. Throws, as gloo expects.
class StoreAdapter : public gloo::rendezvous::Store {
 public:
  StoreAdapter(TcpStoreClient& client, Clock::time_point deadline)
      : client_(client), deadline_(deadline) {}

  void set(const std::string& key, const std::vector<char>& value) override {
    const Done outcome = client_.set(key, std::string(value.begin(), value.end()));
    if (!outcome.ok()) throw std::runtime_error(outcome.error().text());
  }

  std::vector<char> get(const std::string& key) override {
    const Duration left{std::chrono::nanoseconds(deadline_ - Clock::now()).count()};
    const auto value = client_.get(key, left);
    if (!value.ok()) throw std::runtime_error("rank " + key + " is missing");
    return {value->begin(), value->end()};
  }

  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) get(key);
  }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds&) override {
    wait(keys);
  }

 private:
  TcpStoreClient& client_;
  Clock::time_point deadline_;
};

/// Where the slice of `rank` begins, in elements, when `count` are shared among `world`.
size_t slice_begin(size_t count, int world, int rank) {
  return count * static_cast<size_t>(rank) / static_cast<size_t>(world);
}

class GlooCollective : public Collective {
 public:
  GlooCollective(const GlooOptions& options, std::shared_ptr<gloo::Context> context)
      : options_(options),
        context_(std::move(context)),
        farewells_(static_cast<size_t>(options.world)) {
    if (context_ == nullptr) return;
    watch_ = wrap(farewells_.data(), farewells_.size());
    for (int peer = 0; peer < world(); ++peer) {
      if (peer != rank()) watch_->recv(peer, kFarewellSlot, static_cast<size_t>(peer), 1);
    }
    watcher_ = std::thread([this] { watch_peers(); });
  }

  ~GlooCollective() override {
    if (context_ == nullptr) return;
    if (healthy().ok()) say_farewell();
    leaving_ = true;
    watch_->abortWaitRecv();
    watcher_.join();
    close();
  }

  int rank() const override { return options_.rank; }
  int world() const override { return options_.world; }

  Done all_reduce(const CollectiveBuffer& buffer, ReduceOp op) override {
    if (world() == 1 || buffer.count == 0) return healthy();
    const uint64_t slot = next_slot(describe_all_reduce(buffer, op));
    return guarded([&] {
      if (buffer.size_bytes() <= kSmallBytes) return reduce_whole(buffer, op, slot);
      return reduce_slices(buffer, op, slot);
    });
  }

  Done broadcast(const CollectiveBuffer& buffer, int root) override {
    CHECK(root >= 0 && root < world());
    if (world() == 1 || buffer.count == 0) return healthy();
    const uint64_t slot = next_slot(describe_broadcast(buffer, root));
    return guarded([&] {
      auto part = wrap(buffer.address, buffer.size_bytes());
      if (rank() != root) {
        part->recv(root, slot);
        return wait(*part, 0, 1);
      }
      for (int peer = 0; peer < world(); ++peer) {
        if (peer != root) part->send(peer, slot);
      }
      return wait(*part, world() - 1, 0);
    });
  }

  Done all_gather(const CollectiveBuffer& mine, void* all) override {
    if (mine.count == 0) return healthy();
    if (world() == 1) {
      std::memcpy(all, mine.address, mine.size_bytes());
      return healthy();
    }
    const uint64_t slot = next_slot(describe_all_gather(mine));
    return guarded([&] { return gather_bytes(mine.address, mine.size_bytes(), all, slot); });
  }

  Done barrier() override {
    if (world() == 1) return healthy();
    const uint64_t slot = next_slot("barrier");
    const char mine = 1;
    std::vector<char> all(static_cast<size_t>(world()));
    return guarded([&] { return gather_bytes(&mine, 1, all.data(), slot); });
  }

  void abort(std::string_view reason) override {
    fail({Code::kAborted, "rank " + std::to_string(rank()) + " aborted: " + std::string(reason),
          {}});
    close();
  }

 private:
  std::unique_ptr<UnboundBuffer> wrap(const void* address, size_t size) {
    return context_->createUnboundBuffer(const_cast<void*>(address), size);
  }

  /// Waits for each peer's farewell; a connection that ends without one is a death. So a rank hears
  /// of it at once even when all it waits for is somebody else.
  void watch_peers() {
    try {
      for (int peer = 1; peer < world(); ++peer) {
        if (!watch_->waitRecv(nullptr, kForever)) return;
      }
    } catch (const std::exception& exception) {
      if (leaving_) return;
      fail(explain(exception));
      close();
    }
  }

  /// Tells the peers that this end is meant: what they still wait for from others goes on.
  void say_farewell() {
    const char bye = 1;
    try {
      auto part = wrap(&bye, 1);
      for (int peer = 0; peer < world(); ++peer) {
        if (peer != rank()) part->send(peer, kFarewellSlot);
      }
      for (int peer = 1; peer < world(); ++peer) part->waitSend(nullptr, kFarewellLimit);
    } catch (const std::exception&) {
      // Who has gone already needs no farewell.
    }
  }

  /// The slot of an operation: its place in the sequence and a digest of what is asked, so that two
  /// ranks that ask for different things never match, and meet the deadline instead.
  uint64_t next_slot(const std::string& request) {
    sequence_ += 2;
    return sequence_ << 24 | (digest_of(request).bits & 0xfffffe);
  }

  /// Runs `body` at the border to gloo: its exceptions become the generation's failure.
  template <class Body>
  Done guarded(const Body& body) {
    TRY(healthy());
    op_deadline_ = Clock::now() + to_millis(options_.op_timeout);
    try {
      const Done outcome = body();
      if (outcome.ok()) {
        op_deadline_ = Clock::time_point::max();
        return done();
      }
      fail(outcome.error());
    } catch (const std::exception& exception) {
      fail(explain(exception));
    }
    // Closing at once tells every other rank, those that wait for somebody else too.
    close();
    return healthy();
  }

  /// gloo breaks every connection when a wait is over its time, so the time tells the two apart.
  Error explain(const std::exception& exception) const {
    const std::string me = "rank " + std::to_string(rank());
    if (Clock::now() < op_deadline_.load()) {
      return unavailable(me + " lost a peer: " + exception.what());
    }
    return deadline_exceeded(me + " waited " + to_text(options_.op_timeout) +
                             " for its peers; one of them is stopped, or asks for something else");
  }

  Done healthy() {
    const std::lock_guard lock(mutex_);
    if (failure_) return *failure_;
    return done();
  }

  void fail(Error error) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(error);
    // Closing wakes the peers, but not always a wait of our own that began at the same moment.
    if (waiting_ == nullptr) return;
    waiting_->abortWaitRecv();
    waiting_->abortWaitSend();
  }

  void close() {
    if (context_ == nullptr || closed_.exchange(true)) return;
    try {
      context_->closeConnections();
    } catch (const std::exception&) {
      // A pair that is broken already counts as closed.
    }
  }

  /// While it lives, fail() wakes whoever waits for `part`.
  class WaitScope {
   public:
    WaitScope(GlooCollective& owner, UnboundBuffer& part) : owner_(owner) { set(&part); }
    ~WaitScope() { set(nullptr); }
    WaitScope(const WaitScope&) = delete;
    WaitScope& operator=(const WaitScope&) = delete;

   private:
    void set(UnboundBuffer* part) {
      const std::lock_guard lock(owner_.mutex_);
      owner_.waiting_ = part;
    }
    GlooCollective& owner_;
  };

  Done wait(UnboundBuffer& part, int sends, int receives) {
    const WaitScope scope(*this, part);
    TRY(healthy());  // a failure before the scope began woke nobody
    const auto left = [&] {
      // Rounded up: a wait that ends by itself must not end before the deadline.
      const auto ms = std::chrono::ceil<std::chrono::milliseconds>(op_deadline_.load() -
                                                                   Clock::now());
      return std::max(ms, std::chrono::milliseconds(1));
    };
    for (int i = 0; i < receives; ++i) {
      if (!part.waitRecv(nullptr, left())) return unavailable("a receive was interrupted");
    }
    for (int i = 0; i < sends; ++i) {
      if (!part.waitSend(nullptr, left())) return unavailable("a send was interrupted");
    }
    return done();
  }

  /// Sends `size` bytes to everyone; rank r's land at r * size of `all`, our own included.
  Done gather_bytes(const void* mine, size_t size, void* all, uint64_t slot) {
    char* out = static_cast<char*>(all);
    auto from = wrap(mine, size);
    auto to = wrap(out, size * static_cast<size_t>(world()));
    for (int peer = 0; peer < world(); ++peer) {
      if (peer != rank()) to->recv(peer, slot, static_cast<size_t>(peer) * size, size);
    }
    for (int peer = 0; peer < world(); ++peer) {
      if (peer != rank()) from->send(peer, slot);
    }
    std::memcpy(out + static_cast<size_t>(rank()) * size, mine, size);
    TRY(wait(*to, 0, world() - 1));
    return wait(*from, world() - 1, 0);
  }

  Done reduce_whole(const CollectiveBuffer& buffer, ReduceOp op, uint64_t slot) {
    const size_t size = buffer.size_bytes();
    char* all = scratch(size * static_cast<size_t>(world()));
    TRY(gather_bytes(buffer.address, size, all, slot));
    std::vector<const void*> parts;
    for (int r = 0; r < world(); ++r) parts.push_back(all + static_cast<size_t>(r) * size);
    reduce_parts(buffer.address, parts, buffer.count, buffer.type, op);
    return done();
  }

  Done reduce_slices(const CollectiveBuffer& buffer, ReduceOp op, uint64_t slot) {
    const size_t width = element_size(buffer.type);
    const auto begin = [&](int r) { return slice_begin(buffer.count, world(), r) * width; };
    const size_t mine = begin(rank());
    const size_t mine_size = begin(rank() + 1) - mine;
    char* base = static_cast<char*>(buffer.address);
    char* arrived = scratch(mine_size * static_cast<size_t>(world()));
    auto from = wrap(base, buffer.size_bytes());
    auto to = wrap(arrived, mine_size * static_cast<size_t>(world()));
    for (int peer = 0; peer < world(); ++peer) {
      if (peer != rank()) to->recv(peer, slot, static_cast<size_t>(peer) * mine_size, mine_size);
    }
    for (int peer = 0; peer < world(); ++peer) {
      if (peer != rank()) from->send(peer, slot, begin(peer), begin(peer + 1) - begin(peer));
    }
    TRY(wait(*to, 0, world() - 1));
    TRY(wait(*from, world() - 1, 0));

    std::vector<const void*> parts;
    for (int r = 0; r < world(); ++r) parts.push_back(arrived + static_cast<size_t>(r) * mine_size);
    parts[static_cast<size_t>(rank())] = base + mine;
    reduce_parts(base + mine, parts, mine_size / width, buffer.type, op);

    // The second hop needs a slot of its own: a fast peer may already send its reduced slice.
    auto sender = wrap(base + mine, mine_size);
    for (int peer = 0; peer < world(); ++peer) {
      if (peer != rank()) from->recv(peer, slot + 1, begin(peer), begin(peer + 1) - begin(peer));
    }
    for (int peer = 0; peer < world(); ++peer) {
      if (peer != rank()) sender->send(peer, slot + 1);
    }
    TRY(wait(*from, 0, world() - 1));
    return wait(*sender, world() - 1, 0);
  }

  char* scratch(size_t size) {
    if (scratch_.size() < size) scratch_.resize(size);
    return scratch_.data();
  }

  const GlooOptions options_;
  std::shared_ptr<gloo::Context> context_;
  std::vector<char> scratch_;
  uint64_t sequence_ = 0;
  std::atomic<Clock::time_point> op_deadline_{Clock::time_point::max()};
  std::atomic<bool> closed_{false};
  std::vector<char> farewells_;
  std::unique_ptr<UnboundBuffer> watch_;
  std::atomic<bool> leaving_{false};
  std::thread watcher_;
  std::mutex mutex_;
  std::optional<Error> failure_;
  UnboundBuffer* waiting_ = nullptr;  ///< guarded by mutex_
};

/// gloo writes to sockets without MSG_NOSIGNAL: by default the death of a peer would kill us too.
void ignore_broken_pipes() {
  struct sigaction current {};
  if (sigaction(SIGPIPE, nullptr, &current) != 0 || current.sa_handler != SIG_DFL) return;
  signal(SIGPIPE, SIG_IGN);
}

Done validate(const GlooOptions& options) {
  if (options.world < 1 || options.rank < 0 || options.rank >= options.world) {
    return invalid_argument("RANK " + std::to_string(options.rank) + " does not fit WORLD_SIZE " +
                            std::to_string(options.world) + "; ranks go from 0 to WORLD_SIZE - 1");
  }
  if (options.world > 1 && (options.master_port < 1 || options.master_port > 65535)) {
    return invalid_argument("MASTER_PORT " + std::to_string(options.master_port) +
                            " is not a port; set it to the port that rank 0 shall listen on");
  }
  return done();
}

Result<std::unique_ptr<Collective>> connect_ranks(const GlooOptions& options) {
  ignore_broken_pipes();
  const auto deadline = Clock::now() + to_millis(options.connect_timeout);
  std::unique_ptr<TcpStoreServer> server;
  if (options.rank == 0) {
    server = TRY(TcpStoreServer::open(options.master_addr, options.master_port, options.name));
  }
  auto client = TRY(TcpStoreClient::dial(options.master_addr, options.master_port, options.name,
                                         options.connect_timeout));
  const std::string address = TRY(client->local_address());
  StoreAdapter store(*client, deadline);
  gloo::transport::tcp::attr attr(address.c_str());
  std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(attr);
  auto context = std::make_shared<gloo::rendezvous::Context>(options.rank, options.world);
  context->setTimeout(to_millis(options.connect_timeout));
  context->connectFullMesh(store, device);
  auto collective = std::make_unique<GlooCollective>(options, std::move(context));
  // Rank 0 must not take the store away before the slowest rank has read it.
  TRY(collective->barrier());
  return std::unique_ptr<Collective>(std::move(collective));
}

}  // namespace

Result<std::unique_ptr<Collective>> open_gloo_collective(const GlooOptions& options) {
  TRY(validate(options));
  if (options.world == 1) {
    return std::unique_ptr<Collective>(std::make_unique<GlooCollective>(options, nullptr));
  }
  try {
    return connect_ranks(options);
  } catch (const std::exception& exception) {
    return deadline_exceeded("rank " + std::to_string(options.rank) + " of " +
                             std::to_string(options.world) + " could not connect to its peers: " +
                             exception.what());
  }
}

}  // namespace keiko
