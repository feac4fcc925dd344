#include "core/health/lemon.h"

#include <algorithm>
#include <array>

namespace keiko::health {
namespace {

/// 2^(-k/16) in 2^-30ths, k from 0 to 16.
constexpr std::array<int64_t, 17> kRoots{
    1073741824, 1028218693, 984625594, 942880699, 902905651, 864625413,
    827968132, 792865000, 759250125, 727060411, 696235434, 666717336,
    638450708, 611382493, 585461881, 560640218, 536870912};

constexpr int64_t kMostMillionths = 1'000'000 * kOneIncident;

}  // namespace

int64_t decayed(int64_t millionths, Duration elapsed, Duration half_life) {
  if (elapsed.ns <= 0) return millionths;
  const int64_t halvings = elapsed.ns / half_life.ns;
  if (halvings >= 40) return 0;
  // Between the sixteenths of a half-life the curve is nearly straight.
  const int64_t part = elapsed.ns % half_life.ns;
  const int64_t step = std::max<int64_t>(half_life.ns / 16, 1);
  const auto index = static_cast<size_t>(std::min<int64_t>(part / step, 15));
  const int64_t beyond = part - static_cast<int64_t>(index) * step;
  const int64_t along = std::min<int64_t>(beyond / std::max<int64_t>(step / 1024, 1), 1024);
  const int64_t root = kRoots[index] - (kRoots[index] - kRoots[index + 1]) * along / 1024;
  return ((millionths >> halvings) * (root >> 10)) >> 20;
}

void charge(LemonScore& score, Time at, Duration half_life) {
  if (at >= score.at) {
    score.millionths = decayed(score.millionths, at - score.at, half_life) + kOneIncident;
    score.at = at;
  } else {
    score.millionths += decayed(kOneIncident, score.at - at, half_life);
  }
  score.millionths = std::min(score.millionths, kMostMillionths);
}

int64_t score_at(const LemonScore& score, Time now, Duration half_life) {
  return decayed(score.millionths, now - score.at, half_life);
}

}  // namespace keiko::health
