// Random valid jobs for property tests: a seed in, the same job out.
#pragma once

#include <string>

#include "base/prng.h"
#include "model/job.h"

namespace keiko::cli {

inline std::string random_text(Prng& prng, bool label) {
  static const std::string kLabel = "abcdefghijklmnopqrstuvwxyz0123456789";
  static const std::string kAny = "ab1 \"'\\:#-[]{}*&!|>%@`,\n\t=~?\x01\xc3\xa9";
  const std::string& alphabet = label ? kLabel : kAny;
  std::string out;
  const uint64_t size = 1 + prng.below(12);
  for (uint64_t i = 0; i < size; ++i) out += alphabet[prng.below(label ? 36 : alphabet.size() - 2)];
  if (!label && prng.below(4) == 0) out += "\xc3\xa9";
  return out;
}

inline JobSpec random_job(uint64_t seed) {
  Prng prng(seed);
  const auto chance = [&prng] { return prng.below(2) == 0; };
  JobSpec spec;
  if (chance()) spec.name = "a" + random_text(prng, true);  // no id
  if (chance()) spec.kind = JobKind::kTrain;
  if (chance()) spec.queue = random_text(prng, true);
  spec.priority = static_cast<int32_t>(prng.below(2001)) - 1000;
  const uint64_t words = 1 + prng.below(5);
  for (uint64_t i = 0; i < words; ++i) spec.command.push_back(random_text(prng, false));
  for (uint64_t i = prng.below(4); i > 0; --i) {
    spec.env[random_text(prng, true)] = random_text(prng, false);
  }
  for (uint64_t i = prng.below(3); i > 0; --i) {
    spec.node_labels[random_text(prng, true)] = random_text(prng, true);
  }
  if (chance()) spec.workdir = "/" + random_text(prng, false);
  spec.workers = 1 + static_cast<int32_t>(prng.below(kMaxWorkers));
  spec.one_node = chance();
  spec.devices = 1 + static_cast<int32_t>(prng.below(16));
  if (chance()) spec.device_kind = random_text(prng, true);
  if (chance()) spec.device_memory = mebibytes(static_cast<int64_t>(prng.below(100'000)));
  spec.cpu_milli = static_cast<int64_t>(prng.below(64'000));
  if (chance()) spec.memory = Bytes{static_cast<int64_t>(prng.below(1'000'000'000))};
  spec.restarts = static_cast<int32_t>(prng.below(100));
  spec.infra_restarts = static_cast<int32_t>(prng.below(100));
  spec.grace = milliseconds(static_cast<int64_t>(prng.below(86'400'000)));
  if (chance()) spec.time_limit = seconds(static_cast<int64_t>(prng.below(1'000'000)));
  if (chance()) spec.log_limit = kibibytes(4 + static_cast<int64_t>(prng.below(1'000'000)));
  spec.slurm_env = chance();
  if (chance()) spec.checkpoint_dir = "/" + random_text(prng, false);
  if (chance()) {
    spec.image = "/" + random_text(prng, true);
    for (uint64_t i = prng.below(3); i > 0; --i) {
      spec.mounts.push_back(
          {"/" + random_text(prng, true), "/" + random_text(prng, true), chance()});
    }
  }
  return spec;
}

}  // namespace keiko::cli
