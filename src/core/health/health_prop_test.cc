// Random lives of a cluster's health: whatever happens in whatever order, the laws hold; the same
// events give the same digest; what is told twice counts once; nothing stays in quarantine for want
// of an exit; 10,000 lines of a log lose no XID.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/prng.h"
#include "core/health/health_brain.h"
#include "core/health/log/kernel_line.h"
#include "core/health/story.h"

namespace keiko::health {
namespace {

using Kind = ObservationKind;

constexpr Time kBoot{hours(1000).ns};

Event devices_of(const std::string& node, Time at) {
  std::vector<HealthDevice> devices;
  for (int i = 0; i < 3; ++i) {
    devices.push_back({"GPU-" + std::to_string(i), "0000:0" + std::to_string(i) + ":00.0", "", -1});
  }
  devices.push_back({"MIG-1", "0000:03:00.0", "GPU-3", 1});
  devices.push_back({"MIG-2", "0000:03:00.0", "GPU-3", 2});
  return {at, DevicesFound{node, devices, "boot-0"}};
}

/// Makes observations of every kind, and of each the duplicates that a real machine has.
class RandomMachine {
 public:
  explicit RandomMachine(uint64_t seed) : prng_(seed) {}

  /// RETURNS: one batch; time goes on by up to `most`.
  std::vector<Observation> batch(Duration most) {
    now_ = now_ + microseconds(prng_.between(1, most.ns / 1000));
    std::vector<Observation> result;
    const int64_t count = prng_.between(1, 4);
    for (int64_t i = 0; i < count; ++i) {
      now_ = now_ + microseconds(prng_.between(1, 3000));
      result.push_back(one());
    }
    return result;
  }
  Time now() const { return now_; }
  Prng& prng() { return prng_; }
  /// Everything is well from here on: what keiko can do is done, then a person comes.
  Observation cure(const HealthSubject& subject, Kind kind) {
    now_ = now_ + milliseconds(1);
    Observation cured;
    cured.subject = subject;
    cured.kind = kind;
    cured.at = now_;
    return cured;
  }

 private:
  Observation one() {
    Observation seen;
    seen.subject.node = prng_.chance(1, 4) ? "b" : "a";
    seen.at = now_;
    seen.boot = "boot-" + std::to_string(boots_[seen.subject.node]);
    seen.boot_us = (now_ - kBoot).ns / 1000;
    seen.kind = static_cast<Kind>(prng_.between(1, 28));
    if (prng_.chance(1, 2)) seen.kind = Kind::kXid;
    if (seen.kind == Kind::kReboot && prng_.chance(1, 2)) {
      seen.boot = "boot-" + std::to_string(++boots_[seen.subject.node]);
    }
    name(seen);
    seen.source = prng_.chance(1, 2) ? ObservationSource::kKernelLog : ObservationSource::kProbe;
    seen.code = code_of(seen.kind);
    seen.value = prng_.between(0, 6);
    seen.text = "line " + std::to_string(seen.boot_us);
    return seen;
  }
  void name(Observation& seen) {
    const bool nic = seen.kind == Kind::kLinkDown || seen.kind == Kind::kLinkUp;
    const bool node = seen.kind == Kind::kReboot || seen.kind == Kind::kDiskLow ||
                      seen.kind == Kind::kClockSkew || seen.kind == Kind::kIoError;
    if (node || (seen.kind != Kind::kXid && prng_.chance(1, 20))) return;
    seen.subject.kind = nic ? HealthSubjectKind::kNic : HealthSubjectKind::kDevice;
    const std::string number = std::to_string(prng_.below(4));
    const uint64_t form = prng_.below(4);
    seen.subject.name = nic         ? "mlx5_" + number
                        : form == 0 ? "0000:0" + number + ":00.0"
                        : form == 1 ? "MIG-" + std::to_string(1 + prng_.below(2))
                                    : "GPU-" + number;
    if (!nic && prng_.chance(1, 5)) seen.gpu_instance = static_cast<int32_t>(prng_.below(3));
  }
  int64_t code_of(Kind kind) {
    static constexpr std::array<int64_t, 14> kOften{13, 31, 45,  48,  62, 63, 64,
                                                    79, 94, 95, 119, 149, 154, 154};
    if (kind == Kind::kXid) {
      return prng_.chance(1, 4) ? prng_.between(0, 180) : kOften[prng_.below(kOften.size())];
    }
    return kind == Kind::kRecovered ? prng_.between(1, 28) : prng_.between(0, 2);
  }

  Prng prng_;
  Time now_ = kBoot + hours(1);
  std::map<std::string, int> boots_;
};

/// The promise of every quarantine: an owner, an exit and a next look at it.
void expect_exits(const HealthState& state, uint64_t seed) {
  const Done sound = check_health(state);
  ASSERT_TRUE(sound.ok()) << "seed " << seed << ": " << sound.error().text();
  for (const auto& [name, node] : state.nodes) {
    for (const HealthSubject& subject : node.quarantined) {
      const HealthView view = view_of(state, subject);
      ASSERT_TRUE(view.quarantined) << "seed " << seed << ": " << to_text(subject);
      ASSERT_NE(view.exits & kByOperator, 0u) << "seed " << seed << ": " << to_text(subject);
      const bool known = find_incident(state, view.incident) != nullptr;
      ASSERT_TRUE(known) << "seed " << seed << ": " << view.sentence;
    }
  }
}

TEST(HealthLife, keeps_its_laws_whatever_happens) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    RandomMachine machine(seed);
    HealthBrain brain;
    brain.step(devices_of("a", machine.now()));
    for (int i = 0; i < 120; ++i) {
      const bool long_pause = machine.prng().chance(1, 10);
      const auto batch = machine.batch(long_pause ? hours(10) : seconds(40));
      brain.step({machine.now(), Observed{batch}});
      expect_exits(brain.state(), seed);
      if (HasFatalFailure()) return;
    }
  }
}

/// Does to `told` what the effects say; each of them must be news.
void follow(const Effects& effects, std::set<HealthSubject>& told) {
  for (const Effect& effect : effects) {
    if (effect.kind == EffectKind::kQuarantine) {
      EXPECT_TRUE(told.insert(effect.subject).second) << to_text(effect.subject);
      EXPECT_FALSE(effect.text.empty());
    } else if (effect.kind == EffectKind::kRelease) {
      EXPECT_EQ(told.erase(effect.subject), 1u) << to_text(effect.subject);
    }
  }
}

std::set<HealthSubject> quarantined(const HealthState& state) {
  std::set<HealthSubject> all;
  for (const auto& [name, node] : state.nodes) {
    all.insert(node.quarantined.begin(), node.quarantined.end());
  }
  return all;
}

TEST(HealthLife, tells_each_quarantine_and_each_release_once_and_in_turn) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    RandomMachine machine(seed);
    HealthBrain brain;
    std::set<HealthSubject> told;
    for (int i = 0; i < 120; ++i) {
      const auto batch = machine.batch(minutes(5));
      follow(brain.step({machine.now(), Observed{batch}}), told);
      ASSERT_EQ(quarantined(brain.state()), told) << "seed " << seed;
    }
  }
}

/// Does what keiko can do by itself: resets, tests, a reboot of each node; then a day passes.
Time heal(RandomMachine& machine, HealthBrain& brain) {
  const auto tell = [&](const HealthSubject& subject, Kind kind) {
    const Observation cured = machine.cure(subject, kind);
    brain.step({machine.now(), Observed{{cured}}});
  };
  for (const Kind kind : {Kind::kDeviceReset, Kind::kRetestPassed, Kind::kLinkUp}) {
    for (const HealthSubject& subject : quarantined(brain.state())) tell(subject, kind);
  }
  for (const char* node : {"a", "b"}) tell({node, HealthSubjectKind::kNode, {}}, Kind::kReboot);
  const Time later = machine.now() + hours(24);
  brain.step({later, Wake{}});
  return later;
}

TEST(HealthLife, everything_in_quarantine_comes_back) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    RandomMachine machine(seed);
    HealthBrain brain;
    brain.step(devices_of("a", machine.now()));
    for (int i = 0; i < 80; ++i) {
      brain.step({machine.now(), Observed{machine.batch(minutes(5))}});
    }
    const Time later = heal(machine, brain);
    for (const HealthSubject& subject : quarantined(brain.state())) {
      const HealthView view = view_of(brain.state(), subject);
      const bool waits = view.owner != HealthOwner::kKeiko || (view.exits & kByRecovery) != 0;
      EXPECT_TRUE(waits) << "seed " << seed << ": " << view.sentence;
    }
    for (const char* node : {"a", "b"}) {
      Observation clear = machine.cure({node, HealthSubjectKind::kNode, {}}, Kind::kOperatorClear);
      clear.at = later;
      brain.step({later, Observed{{clear}}});
    }
    EXPECT_TRUE(quarantined(brain.state()).empty()) << "seed " << seed;
    EXPECT_TRUE(brain.state().open.empty()) << "seed " << seed;
  }
}

TEST(HealthReplay, same_events_give_the_same_digest_even_over_a_restart) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    RandomMachine machine(seed);
    HealthBrain live;
    HealthBrain stored;
    for (int i = 0; i < 100; ++i) {
      const auto batch = machine.batch(minutes(5));
      const Effects first = live.step({machine.now(), Observed{batch}});
      const Effects second = stored.step({machine.now(), Observed{batch}});
      ASSERT_EQ(live.digest(), stored.digest()) << "seed " << seed;
      if (machine.prng().chance(1, 10)) {
        stored = HealthBrain(MUST(decode_health(encode_health(stored.state()))));
      }
    }
  }
}

TEST(HealthReplay, damaged_bytes_are_refused_or_give_a_state_that_works) {
  int refused = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    RandomMachine machine(seed);
    HealthBrain brain;
    for (int i = 0; i < 10; ++i) {
      brain.step({machine.now(), Observed{machine.batch(minutes(5))}});
    }
    std::string bytes = encode_health(brain.state());
    const size_t place = machine.prng().below(bytes.size());
    bytes[place] = static_cast<char>(machine.prng().below(256));
    auto state = decode_health(bytes);
    if (!state.ok()) {
      EXPECT_EQ(state.error().code, Code::kDataLoss);
      ++refused;
      continue;
    }
    HealthBrain revived(*std::move(state));
    for (int i = 0; i < 10; ++i) {
      revived.step({machine.now(), Observed{machine.batch(minutes(5))}});
    }
    EXPECT_TRUE(check_health(revived.state()).ok()) << "seed " << seed;
  }
  EXPECT_GT(refused, 20);
}

TEST(HealthReplay, order_within_a_batch_does_not_matter) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    RandomMachine machine(seed);
    HealthBrain one;
    HealthBrain other;
    for (int i = 0; i < 60; ++i) {
      auto batch = machine.batch(seconds(30));
      one.step({machine.now(), Observed{batch}});
      for (size_t left = batch.size(); left > 1; --left) {
        std::swap(batch[left - 1], batch[machine.prng().below(left)]);
      }
      other.step({machine.now(), Observed{batch}});
      ASSERT_EQ(one.digest(), other.digest()) << "seed " << seed;
    }
  }
}

TEST(HealthReplay, duplicates_change_nothing_however_late_they_come) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    RandomMachine machine(seed);
    HealthBrain once;
    HealthBrain again;
    std::vector<Observation> all;
    for (int i = 0; i < 60; ++i) {
      auto batch = machine.batch(seconds(30));
      all.insert(all.end(), batch.begin(), batch.end());
      once.step({machine.now(), Observed{batch}});
      const int64_t repeats = machine.prng().between(0, 3);
      for (int64_t k = 0; k < repeats; ++k) batch.push_back(all[machine.prng().below(all.size())]);
      again.step({machine.now(), Observed{batch}});
      // The log is read from its beginning by an agent that was started again.
      if (machine.prng().chance(1, 10)) again.step({machine.now(), Observed{all}});
      ASSERT_EQ(once.digest(), again.digest()) << "seed " << seed << ", batch " << i;
    }
  }
}

/// Writes a log of `count` lines with the troubles of a real one, and remembers every XID in it.
class TroubledLog {
 public:
  explicit TroubledLog(uint64_t seed) : prng_(seed) {}

  void write(int count) {
    while (static_cast<int>(lines.size()) < count) {
      clock_us_ += prng_.between(1, 2'000'000);
      const uint64_t choice = prng_.below(10);
      if (choice < 3) fault();
      else if (choice < 5 && !whole_.empty()) lines.push_back(whole_[prng_.below(whole_.size())]);
      else if (choice == 5) say(4, "nvidia_isr: 23 callbacks suppressed");
      else if (choice == 6) torn();
      else say(6, "audit: type=1400 apparmor=\"STATUS\" Xid (nothing) pid=1");
    }
  }

  std::vector<std::string> lines;
  std::set<std::pair<std::string, int64_t>> faults;  ///< (address + µs, XID)

 private:
  void say(int level, const std::string& text) {
    lines.push_back(std::to_string(level) + "," + std::to_string(++sequence_) + "," +
                    std::to_string(clock_us_) + ",-;" + text + "\n");
  }
  void fault() {
    const std::string bus = std::to_string(10 + prng_.below(8));
    const int64_t xid = prng_.between(1, 172);
    const std::string head = prng_.chance(1, 2) ? "PCI:0000:" : "PCI:00000000:";
    say(3, "NVRM: Xid (" + head + bus + ":00): " + std::to_string(xid) + ", pid=7, name=python, x");
    whole_.push_back(lines.back());
    faults.emplace("0000:" + bus + ":00.0@" + std::to_string(clock_us_), xid);
  }
  /// A piece of a line that stands in the log whole as well.
  void torn() {
    if (whole_.empty()) return;
    const std::string& line = whole_[prng_.below(whole_.size())];
    const size_t head = line.find(';') + 1;
    lines.push_back(line.substr(0, head + prng_.below(line.size() - head)));
  }

  Prng prng_;
  int64_t clock_us_ = 1'000'000;
  uint64_t sequence_ = 0;
  std::vector<std::string> whole_;
};

TEST(KernelLogReplay, of_10000_troubled_lines_misses_no_xid_and_counts_none_twice) {
  TroubledLog log(7);
  log.write(10'000);
  ASSERT_GT(log.faults.size(), 2000u);
  HealthOptions options;
  options.history_most = 100'000;
  HealthBrain brain(options);
  const LogPlace place{"a", "boot", kBoot};
  std::set<std::pair<std::string, int64_t>> found;
  Time now = kBoot;
  for (const std::string& line : log.lines) {
    const auto observations = read_kernel_record(MUST(parse_kernel_record(line)), place);
    for (const Observation& seen : observations) {
      if (seen.kind != Kind::kXid) continue;
      found.emplace(seen.subject.name + "@" + std::to_string(seen.boot_us), seen.code);
      now = std::max(now, seen.at);
    }
    brain.step({now, Observed{observations}});
  }
  EXPECT_EQ(found, log.faults);
  int64_t counted = 0;
  const auto add = [&](const Incident& incident) {
    counted += incident.left_out;
    for (const Sighting& seen : incident.sightings) {
      counted += seen.kind == Kind::kXid && !(seen.code == 154 && seen.value == 0) ? seen.count : 0;
    }
  };
  for (const auto& [id, incident] : brain.state().open) add(incident);
  for (const Incident& incident : brain.state().closed) add(incident);
  EXPECT_EQ(counted, static_cast<int64_t>(log.faults.size()));
  EXPECT_TRUE(check_health(brain.state()).ok());
}

}  // namespace
}  // namespace keiko::health
