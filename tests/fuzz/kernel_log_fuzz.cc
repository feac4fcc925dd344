// sources: src/base/*.cc src/model/*.cc src/core/health/*.cc src/core/health/*/*.cc
//
// The kernel's log against any bytes, on the whole way that they take: record, line, judge. Every
// line of the input is one record. Whatever they are: no crash, at most eight observations a
// record, numbers within their kinds, and a state of health that keeps its laws, comes back from
// its bytes, and is not changed by hearing all of it once more.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "core/health/health_brain.h"
#include "core/health/log/kernel_line.h"

namespace keiko::health {
namespace {

void check(const Observation& seen) {
  CHECK(to_text(seen.kind) != "unknown");
  CHECK(seen.code >= 0 && seen.value >= -1 && seen.gpu_instance >= -1);
  CHECK(!seen.text.empty() && seen.text.size() <= 512);
  CHECK(seen.detail.size() <= 64);
  CHECK(seen.subject.kind == HealthSubjectKind::kNode || !seen.subject.name.empty());
}

std::vector<Observation> read_all(std::string_view bytes) {
  std::vector<Observation> all;
  const LogPlace place{"n", "boot", Time{seconds(1).ns}};
  while (!bytes.empty()) {
    const size_t end = std::min(bytes.find('\n'), bytes.size());
    const auto record = parse_kernel_record(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (!record.ok()) continue;
    const auto found = read_kernel_record(*record, place);
    CHECK(found.size() <= 8);
    for (const Observation& seen : found) check(seen);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

void judge_all(const std::vector<Observation>& all) {
  HealthBrain brain;
  const Time now{hours(24 * 365 * 10).ns};
  for (const Observation& seen : all) brain.step({now, Observed{{seen}}});
  brain.step({now, Wake{}});  // what is long over ends now
  CHECK(check_health(brain.state()).ok());
  const Digest before = brain.digest();
  CHECK(digest_of(MUST(decode_health(encode_health(brain.state())))) == before);
  bool all_numbered = true;
  for (const Observation& seen : all) all_numbered &= seen.boot_us > 0;
  if (!all_numbered) return;
  brain.step({now, Observed{all}});
  CHECK(brain.digest() == before);
}

}  // namespace
}  // namespace keiko::health

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace keiko::health;  // NOLINT
  judge_all(read_all({reinterpret_cast<const char*>(bytes), size}));
  return 0;
}
