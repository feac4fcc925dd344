// sources: src/base/*.cc src/agent/socket_protocol.cc
//
// The worker socket's lines against any bytes: an answer or an error with a sentence, never a
// crash, and never a number below zero or a reference that is too long.
#include <cstdint>
#include <string_view>
#include <variant>

#include "agent/socket_protocol.h"
#include "base/check.h"

namespace keiko::agent {
namespace {

void check(const WorkerHello& hello) { CHECK(hello.protocol >= 0 && hello.pid >= 0); }
void check(const Progress& progress) {
  CHECK(progress.step >= 0 && progress.total_steps >= 0);
  CHECK(progress.samples >= 0 && progress.tokens >= 0);
}
void check(const CheckpointMark& mark) {
  CHECK(mark.step >= 0 && !mark.ref.empty() && mark.ref.size() <= kMaxRefBytes);
}
void check(const WorkerAck& ack) { CHECK(ack.id >= 0); }
void check(const UnknownLine& line) { CHECK(line.type.size() <= kMaxLineBytes); }

}  // namespace
}  // namespace keiko::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace keiko::agent;
  const auto line = parse_worker_line({reinterpret_cast<const char*>(bytes), size});
  if (line.ok()) {
    std::visit([](const auto& body) { check(body); }, *line);
  } else {
    CHECK(!line.error().message.empty());
  }
  return 0;
}
