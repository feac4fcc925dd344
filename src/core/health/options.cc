#include "core/health/options.h"

#include <array>

namespace keiko::health {

Done validate(const HealthOptions& options) {
  struct Span {
    const char* name;
    Duration value;
  };
  const std::array<Span, 10> spans{{{"cascade_window", options.cascade_window},
                                    {"twin_window", options.twin_window},
                                    {"probation", options.probation},
                                    {"link_sticky", options.link_sticky},
                                    {"flap_window", options.flap_window},
                                    {"review_first", options.review_first},
                                    {"review_most", options.review_most},
                                    {"recurrence_memory", options.recurrence_memory},
                                    {"suspect_window", options.suspect_window},
                                    {"lemon_half_life", options.lemon_half_life}}};
  for (const Span& span : spans) {
    if (span.value > Duration{} && span.value <= hours(24 * 366)) continue;
    return invalid_argument(std::string(span.name) + " is " + to_text(span.value) +
                            "; it must be more than nothing and a year at most");
  }
  const bool counts = options.resets_before_reboot > 0 && options.reboots_before_inspection > 0 &&
                      options.app_faults_before_retest > 0 &&
                      options.app_faults_before_retest <= 1000 && options.sram_errors_most >= 0;
  if (!counts) return invalid_argument("a number of faults before the next step must be positive");
  if (options.flaps_most < 0 || options.flaps_most > 10) {
    return invalid_argument("flaps_most must be between 0 and 10");
  }
  if (options.link_slow_percent < 1 || options.link_slow_percent > 100) {
    return invalid_argument("link_slow_percent must be between 1 and 100");
  }
  if (options.history_most < 0 || options.history_most > 100'000) {
    return invalid_argument("history_most must be between 0 and 100000");
  }
  return done();
}

}  // namespace keiko::health
