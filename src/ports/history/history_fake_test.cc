#include "ports/history/history_fake.h"

#include "ports/history/history_conformance.h"

namespace keiko {
namespace {

class FakeHarness {
 public:
  History& history() { return *history_; }
  void reopen() { history_ = std::make_unique<FakeHistory>(disk_); }
  void fill(bool full) { disk_->full = full; }

 private:
  std::shared_ptr<FakeHistoryDisk> disk_ = std::make_shared<FakeHistoryDisk>();
  std::unique_ptr<FakeHistory> history_ = std::make_unique<FakeHistory>(disk_);
};

INSTANTIATE_TYPED_TEST_SUITE_P(Fake, HistoryConformance, FakeHarness);

}  // namespace
}  // namespace keiko
