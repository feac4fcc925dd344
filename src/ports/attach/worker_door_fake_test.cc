#include "ports/attach/worker_door_fake.h"

#include "ports/attach/worker_door_conformance.h"

namespace keiko {
namespace {

VisitEnd send_back(const FakeCommand& command) {
  while (const std::optional<std::string> text = fake_read(command)) {
    if (text->empty() || !fake_write(command, command.out, *text)) break;
  }
  return {};
}

class FakeHarness {
 public:
  FakeHarness() {
    door_.begin_worker(worker());
    door_.set_port(echo_port(), &send_back);
  }
  WorkerDoor& door() { return door_; }
  WorkerKey worker() { return {JobId{7}, 1, 0}; }
  void end_worker() { door_.end_worker(worker()); }
  int echo_port() { return 8888; }
  int closed_port() { return 8889; }

 private:
  FakeWorkerDoor door_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Fake, WorkerDoorConformance, FakeHarness);

}  // namespace
}  // namespace keiko
