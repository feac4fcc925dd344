#include "ports/logs/log_store_fake.h"

#include "ports/logs/log_store_conformance.h"

namespace keiko {
namespace {

class FakeHarness {
 public:
  LogStore& store() { return *store_; }
  void reopen() { store_ = std::make_unique<FakeLogStore>(disk_); }
  void fill(bool full) { disk_->full = full; }

 private:
  std::shared_ptr<FakeLogDisk> disk_ = std::make_shared<FakeLogDisk>();
  std::unique_ptr<FakeLogStore> store_ = std::make_unique<FakeLogStore>(disk_);
};

INSTANTIATE_TYPED_TEST_SUITE_P(Fake, LogStoreConformance, FakeHarness);

TEST(FakeLogDisk, keeps_what_was_synced_over_a_loss_of_power) {
  auto disk = std::make_shared<FakeLogDisk>();
  FakeLogStore store(disk);
  const LogName name{{JobId{1}, 1, 0}, LogStream::kOut};
  MUST(store.append(name, "safe", false, {}));
  MUST(store.sync());
  MUST(store.append(name, "loose", true, {}));
  disk->lose_power(2);
  EXPECT_EQ(disk->text(name), "safelo");
  EXPECT_FALSE(MUST(store.extent(name)).ended);
}

}  // namespace
}  // namespace keiko
