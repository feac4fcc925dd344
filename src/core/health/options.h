// Options of the health room. They change decisions, so they live in the state and change by an
// event; a replay knows them.
#pragma once

#include <cstdint>

#include "base/fields.h"

namespace keiko::health {

struct HealthOptions {
  /// Faults of one device no further apart than this are one incident: the driver's own cascades
  /// (62, 45, 119, 154) pass within seconds, a reset that fails again within a minute.
  Duration cascade_window = seconds(60);
  /// The vendor's library and the kernel's log tell of one XID this far apart at most: the log is
  /// read at once, the library's events once a second.
  Duration twin_window = seconds(5);
  /// How long a device back from quarantine is on probation.
  Duration probation = hours(1);
  /// A lost carrier counts this long after it came back: InfiniBand links that fell once fall again
  /// within minutes.
  Duration link_sticky = minutes(10);
  /// What ended and comes back within this time is a flap; each flap doubles its hold time.
  Duration flap_window = hours(1);
  /// Doublings of a hold time at most: 10 minutes become 5 hours.
  int32_t flaps_most = 5;
  /// First look at something quarantined that nothing has ended; doubles up to review_most.
  Duration review_first = minutes(15);
  /// Beyond it a reminder would come too late for anybody's working day.
  Duration review_most = hours(6);
  /// The same cause after this many resets wants a reboot.
  int32_t resets_before_reboot = 2;
  /// The same cause after this many reboots wants somebody who looks at the hardware.
  int32_t reboots_before_inspection = 2;
  /// What happened longer ago than this is forgotten when resets and reboots are counted.
  Duration recurrence_memory = hours(24 * 7);
  /// Faults that only concern the program make the device a suspect at this many within
  /// suspect_window: one program crashes often, but then others on the same device do not.
  int32_t app_faults_before_retest = 5;
  /// Long enough for five starts of a job that is restarted with a pause.
  Duration suspect_window = hours(1);
  /// Lemon scores halve in this time.
  Duration lemon_half_life = hours(24 * 7);
  /// Uncorrectable errors of a device's SRAM over its life beyond which the vendor exchanges it.
  int64_t sram_errors_most = 4;
  /// Closed incidents that are kept.
  int32_t history_most = 256;
  /// A link that gives less than so many percent of what its kind gives in health is slow.
  int64_t link_slow_percent = 70;

  template <class S, class V> static void fields(S& s, V&& v) {
    v(1, "cascade_window", s.cascade_window);
    v(2, "twin_window", s.twin_window);
    v(3, "probation", s.probation);
    v(4, "link_sticky", s.link_sticky);
    v(5, "flap_window", s.flap_window);
    v(6, "flaps_most", s.flaps_most);
    v(7, "review_first", s.review_first);
    v(8, "review_most", s.review_most);
    v(9, "resets_before_reboot", s.resets_before_reboot);
    v(10, "reboots_before_inspection", s.reboots_before_inspection);
    v(11, "recurrence_memory", s.recurrence_memory);
    v(12, "app_faults_before_retest", s.app_faults_before_retest);
    v(13, "suspect_window", s.suspect_window);
    v(14, "lemon_half_life", s.lemon_half_life);
    v(15, "sram_errors_most", s.sram_errors_most);
    v(16, "history_most", s.history_most);
    v(17, "link_slow_percent", s.link_slow_percent);
  }
  friend bool operator==(const HealthOptions&, const HealthOptions&) = default;
};

/// RETURNS: kInvalidArgument naming the option that cannot be.
Done validate(const HealthOptions& options);

}  // namespace keiko::health
