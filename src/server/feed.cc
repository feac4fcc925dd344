// Events from the ring and logs from the relay, as server-sent events (WHATWG HTML, 9.2).
#include "server/feed.h"

#include "base/text.h"
#include "base/utf8.h"
#include "server/event_cursor.h"
#include "wire/convert.h"
#include "wire/json.h"

namespace keiko::server {
namespace {

constexpr size_t kMaxFrame = 64 * 1024;

class EventFeed : public Feed {
 public:
  EventFeed(EventLog& events, const v1::WatchEventsRequest& request)
      : events_(events), cursor_(events, request), follow_(request.follow()) {}

  void start(std::function<void()> wake) override { listener_ = events_.listen(std::move(wake)); }

  Pulled pull() override {
    Pulled pulled;
    while (pulled.frame.size() < kMaxFrame) {
      const Result<EventLog::Entry> entry = cursor_.next();
      if (!entry.ok()) {
        pulled.error = entry.error();
        pulled.ended = true;
        break;
      }
      pulled.open = true;
      if (!*entry) {
        pulled.ended = !follow_;
        break;
      }
      const v1::Event& event = **entry;
      pulled.frame += sse_frame(std::to_string(event.cursor()), event.name(), to_json(event));
    }
    return pulled;
  }

  void stop() override { events_.unlisten(listener_); }

 private:
  EventLog& events_;
  EventCursor cursor_;
  const bool follow_;
  uint64_t listener_ = 0;
};

class LogFeed : public Feed, public LogSink, public std::enable_shared_from_this<LogFeed> {
 public:
  LogFeed(ServerLoop& loop, LogRelay& relay, const v1::ReadLogsRequest& request)
      : loop_(loop), relay_(relay), request_(request) {}

  void start(std::function<void()> wake) override {
    wake_ = std::move(wake);
    const Done posted = loop_.post([self = shared_from_this()] { self->open(); });
    if (!posted.ok()) end(posted);
  }

  Pulled pull() override {
    std::deque<v1::LogPiece> pieces;
    Pulled pulled;
    {
      const std::lock_guard lock(mutex_);
      pieces.swap(pieces_);
      pulled.open = open_;
      pulled.ended = how_.has_value();
      if (how_ && !how_->ok()) pulled.error = how_->error();
    }
    size_t bytes = 0;
    for (const v1::LogPiece& piece : pieces) {
      bytes += piece.data().size();
      pulled.frame += frame_of(piece);
    }
    if (bytes > 0) {
      loop_.post_from_agent([self = shared_from_this(), bytes] {
        self->relay_.taken(self->loop_.view(), self->reader_, bytes);
      });
    }
    if (pulled.ended && !pulled.error) pulled.frame += sse_frame("", "end", "{}");
    return pulled;
  }

  void stop() override {
    {
      const std::lock_guard lock(mutex_);
      wake_ = nullptr;
    }
    loop_.post_from_agent([self = shared_from_this()] {
      self->stopped_ = true;
      if (self->reader_ != 0) self->relay_.cancel(self->reader_);
    });
  }

  void piece(v1::LogPiece piece) override {
    const std::lock_guard lock(mutex_);
    pieces_.push_back(std::move(piece));
    if (wake_) wake_();
  }

  void end(const Done& how) override {
    const std::lock_guard lock(mutex_);
    how_ = how;
    if (wake_) wake_();
  }

 private:
  void open() {  // on the loop thread, as reader_ and stopped_ are
    if (stopped_) return;
    reader_ = relay_.open(loop_.view(), request_, shared_from_this());
    const std::lock_guard lock(mutex_);
    open_ = !how_ || how_->ok() || !pieces_.empty();
    if (wake_) wake_();
  }

  /// A character that a piece cuts in two waits for the next piece.
  std::string frame_of(const v1::LogPiece& piece) {
    std::string& carry = carry_[{piece.rank(), piece.stream()}];
    const std::string bytes = carry + piece.data();
    const int64_t offset = piece.offset() - static_cast<int64_t>(carry.size());
    const size_t whole = piece.ended() ? bytes.size() : bytes.size() - cut_character(bytes);
    carry = bytes.substr(whole);
    const std::string text = clean_utf8(std::string_view(bytes).substr(0, whole));
    if (text.empty() && !piece.ended()) return {};
    return sse_frame(id_behind(piece, offset + static_cast<int64_t>(whole)), "log",
                     "{\"attempt\":" + std::to_string(piece.attempt()) +
                         ",\"rank\":" + std::to_string(piece.rank()) + ",\"stream\":" +
                         quote_text(piece.stream()) + ",\"offset\":" + std::to_string(offset) +
                         ",\"text\":" + quote_text(text) +
                         marks_of(piece) + (piece.ended() ? ",\"ended\":true}" : "}"));
  }

  /// One number cannot say where several ranks stand: who reads those has no place to go on from.
  std::string id_behind(const v1::LogPiece& piece, int64_t offset) const {
    if (request_.ranks_size() > 1 || request_.rank() < 0) return {};
    return std::to_string(piece.attempt()) + '.' + std::to_string(offset);
  }

  static std::string marks_of(const v1::LogPiece& piece) {
    std::string marks;
    for (const v1::LogMark& mark : piece.marks()) {
      marks += (marks.empty() ? "" : ",") + ("{\"offset\":" + std::to_string(mark.offset())) +
               ",\"at\":" + quote_text(to_text(from_proto(mark.at()))) + "}";
    }
    return marks.empty() ? marks : ",\"marks\":[" + marks + "]";
  }

  /// RETURNS: how many bytes at the end begin a character that is not complete.
  static size_t cut_character(const std::string& bytes) {
    for (size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
      const auto byte = static_cast<unsigned char>(bytes[bytes.size() - back]);
      if (byte < 0x80) return 0;
      if (byte < 0xC0) continue;
      const size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
      return length > back ? back : 0;
    }
    return 0;
  }

  ServerLoop& loop_;
  LogRelay& relay_;
  const v1::ReadLogsRequest request_;
  uint64_t reader_ = 0;
  bool stopped_ = false;
  std::map<std::pair<int32_t, std::string>, std::string> carry_;

  std::mutex mutex_;
  std::function<void()> wake_;
  std::deque<v1::LogPiece> pieces_;
  std::optional<Done> how_;
  bool open_ = false;
};

}  // namespace

std::shared_ptr<Feed> make_event_feed(EventLog& events, const v1::WatchEventsRequest& request) {
  return std::make_shared<EventFeed>(events, request);
}

std::shared_ptr<Feed> make_log_feed(ServerLoop& loop, LogRelay& relay,
                                    const v1::ReadLogsRequest& request) {
  return std::make_shared<LogFeed>(loop, relay, request);
}

std::string sse_frame(const std::string& id, const std::string& event, const std::string& data) {
  std::string frame;
  if (!id.empty()) frame += "id: " + id + '\n';
  return frame + "event: " + event + "\ndata: " + data + "\n\n";
}

}  // namespace keiko::server
