// Read, answer, read again; or hand the socket to a feed. Every wait has a deadline.
#include "server/http/http_connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "server/http/http_requests.h"

namespace keiko::server {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

class Connection : public HttpConnection, public std::enable_shared_from_this<Connection> {
 public:
  Connection(asio::ip::tcp::socket socket, HttpGateway& gateway, const HttpOptions& options)
      : stream_(std::move(socket)), gateway_(gateway), options_(options),
        beat_(stream_.get_executor()) {}

  void start() override { read(); }

  void close() override {
    if (feed_) feed_->stop();
    feed_ = nullptr;
    beat_.cancel();
    stream_.close();
  }

 private:
  void expire() { stream_.expires_after(std::chrono::nanoseconds(options_.request_timeout.ns)); }

  // ---- requests ----

  void read() {
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(options_.header_limit_bytes));
    parser_->body_limit(options_.body_limit_bytes);
    expire();
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](const error_code& problem, size_t) {
                       self->on_read(problem);
                     });
  }

  void on_read(const error_code& problem) {
    if (!problem) return handle();
    keep_alive_ = false;
    if (problem == http::error::body_limit) {
      return write(error_answer(
          413, Code::kInvalidArgument,
          "the body is over " + to_text(Bytes{static_cast<int64_t>(options_.body_limit_bytes)})));
    }
    if (problem == http::error::header_limit) {
      return write(error_answer(431, Code::kInvalidArgument, "the headers are too large"));
    }
    const bool malformed =
        problem.category() == http::make_error_code(http::error::bad_method).category();
    if (malformed && problem != http::error::end_of_stream &&
        problem != http::error::partial_message) {
      return write(error_answer(400, Code::kInvalidArgument,
                                "the request is not HTTP/1.1: " + problem.message()));
    }
    close();  // gone, or too slow
  }

  void handle() {
    const auto& request = parser_->get();
    keep_alive_ = request.keep_alive();
    head_ = request.method() == http::verb::head;
    const auto header = [&request](http::field name) { return std::string(request[name]); };
    const HttpCall call{std::string(request.method_string()),
                        std::string(request.target()),
                        request.body(),
                        header(http::field::content_type),
                        header(http::field::host),
                        std::string(request["Last-Event-ID"])};
    stream_.expires_never();  // the loop answers; a stream has no end
    feed_ = gateway_.handle(call, [self = shared_from_this()](HttpAnswer answer) {
      asio::post(self->stream_.get_executor(), [self, answer = std::move(answer)]() mutable {
        self->write(std::move(answer));
      });
    });
    if (feed_) start_feed();
  }

  void write(HttpAnswer answer) {
    expire();
    auto response = std::make_shared<http::response<http::string_body>>();
    set_head(*response, answer.status, answer.content_type);
    if (!answer.allow.empty()) response->set(http::field::allow, answer.allow);
    response->content_length(answer.body.size());
    if (head_) {
      auto bare = std::make_shared<http::response<http::empty_body>>(
          static_cast<http::response_header<>&>(*response));
      return send(bare);
    }
    response->body() = std::move(answer.body);
    send(response);
  }

  template <class Header>
  void set_head(Header& response, int status, const std::string& content_type) {
    response.version(11);
    response.result(static_cast<unsigned>(status));
    response.set(http::field::content_type, content_type);
    response.set(http::field::cache_control, "no-store");
    response.set("X-Content-Type-Options", "nosniff");
    response.keep_alive(keep_alive_);
  }

  template <class Response>
  void send(const std::shared_ptr<Response>& response) {
    http::async_write(stream_, *response,
                      [self = shared_from_this(), response](const error_code& problem, size_t) {
                        self->on_written(problem);
                      });
  }

  void on_written(const error_code& problem) {
    if (problem) return close();
    if (keep_alive_) return read();
    error_code ignored;
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    linger();
  }

  /// What the client still sends is read and dropped for a moment, or it would never see the
  /// answer.
  void linger() {
    stream_.expires_after(std::chrono::seconds(1));
    stream_.async_read_some(asio::buffer(scratch_),
                            [self = shared_from_this()](const error_code& problem, size_t) {
                              if (problem) return self->close();
                              self->dropped_ += sizeof self->scratch_;
                              if (self->dropped_ > kMaxLinger) return self->close();
                              self->linger();
                            });
  }

  // ---- streams of events ----

  void start_feed() {
    keep_alive_ = false;
    watch_for_close();
    feed_->start([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self) asio::post(self->stream_.get_executor(), [self] { self->pump(); });
    });
    asio::post(stream_.get_executor(), [self = shared_from_this()] { self->pump(); });
    beat();
  }

  void pump() {
    if (!feed_ || writing_ || ending_) return;
    Feed::Pulled pulled = feed_->pull();
    if (pulled.ended && pulled.error && !opened_) {
      feed_->stop();
      feed_ = nullptr;
      return write(error_answer(*pulled.error));
    }
    if (pulled.error) pulled.frame += sse_frame("", "error", error_json(*pulled.error));
    ending_ = pulled.ended;
    std::string bytes;
    if (!opened_ && (pulled.open || !pulled.frame.empty() || pulled.ended)) {
      opened_ = true;
      bytes = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
              "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n";
    }
    write_bytes(bytes + pulled.frame);
  }

  void write_bytes(std::string bytes) {
    if (bytes.empty() && !ending_) return;
    writing_ = true;
    outgoing_ = std::move(bytes);
    expire();
    asio::async_write(stream_, asio::buffer(outgoing_),
                      [self = shared_from_this()](const error_code& problem, size_t) {
                        self->on_frame_written(problem);
                      });
  }

  void on_frame_written(const error_code& problem) {
    writing_ = false;
    if (problem) return close();
    if (ending_) {
      if (feed_) feed_->stop();
      feed_ = nullptr;
      beat_.cancel();
      error_code ignored;
      stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
      linger();
      return;
    }
    pump();
  }

  /// The client has nothing to say any more; a read that ends tells that it left. It goes on the
  /// socket itself, beside the stream's deadline, which is for writes.
  void watch_for_close() {
    stream_.socket().async_read_some(
        asio::buffer(scratch_), [self = shared_from_this()](const error_code& problem, size_t) {
          if (problem) return self->close();
          self->watch_for_close();
        });
  }

  /// A comment now and then: proxies keep the connection, and a dead client is noticed.
  void beat() {
    beat_.expires_after(std::chrono::nanoseconds(options_.stream_beat.ns));
    beat_.async_wait([self = shared_from_this()](const error_code& problem) {
      if (problem || !self->feed_) return;
      if (self->opened_ && !self->writing_ && !self->ending_) self->write_bytes(": beat\n\n");
      self->beat();
    });
  }

  static constexpr size_t kMaxLinger = 4u << 20;

  beast::tcp_stream stream_;
  HttpGateway& gateway_;
  const HttpOptions options_;
  asio::steady_timer beat_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  bool keep_alive_ = false;
  bool head_ = false;
  std::array<char, 4096> scratch_{};
  size_t dropped_ = 0;
  std::shared_ptr<Feed> feed_;
  std::string outgoing_;
  bool opened_ = false;
  bool writing_ = false;
  bool ending_ = false;
};

}  // namespace

std::shared_ptr<HttpConnection> HttpConnection::make(asio::ip::tcp::socket socket,
                                                     HttpGateway& gateway,
                                                     const HttpOptions& options) {
  return std::make_shared<Connection>(std::move(socket), gateway, options);
}

}  // namespace keiko::server
