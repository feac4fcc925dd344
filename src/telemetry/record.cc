#include "telemetry/record.h"

#include <algorithm>
#include <cmath>

namespace keiko::telemetry {

void Record::put(const std::string& source, Time at, std::vector<Reading> readings) {
  for (Reading& reading : readings) complete(at, reading);
  std::sort(readings.begin(), readings.end(),
            [](const Reading& a, const Reading& b) { return a.subject < b.subject; });
  told_[source] = {at, std::move(readings)};
  forget_gone(at);
}

/// Takes out what cannot be shown, and adds rates and flapping.
void Record::complete(Time at, Reading& reading) {
  Values derived;
  for (auto value = reading.values.begin(); value != reading.values.end();) {
    const MetricRow* row = find_metric(reading.subject.kind, value->first);
    if (row == nullptr) ++unknown_count_;
    if (row == nullptr || !std::isfinite(value->second)) {
      value = reading.values.erase(value);
      continue;
    }
    if (row->kind == MetricKind::kCounter) {
      count(at, {reading.subject, row}, value->second, derived);
    } else {
      keep(at, {reading.subject, row}, value->second * row->scale);
    }
    ++value;
  }
  for (const auto& [name, value] : derived) {
    const MetricRow* row = find_metric(reading.subject.kind, name);
    if (row != nullptr) keep(at, {reading.subject, row}, value * row->scale);
    reading.values[name] = value;
  }
}

void Record::count(Time at, const Key& key, double& value, Values& derived) {
  const MetricRow& row = *key.second;
  const auto [found, fresh] =
      counting_.try_emplace(key, Counting{CounterTrack(row.wraps_at_32_bits), {}, at});
  Counting& counting = found->second;
  counting.track.put(at, value);
  counting.at = at;
  keep(at, key, counting.track.total() * row.scale);
  // Who scrapes would take a wrap for a new beginning and lose what was counted before it.
  if (counting.track.wraps() > 0) value = counting.track.total();
  const auto rate = counting.track.rate_per_s();
  if (row.rate != nullptr && rate) derived[row.rate] = *rate;
  if (row.flaps == nullptr) return;
  counting.flaps.put(at, counting.track.total());
  derived[row.flaps] = counting.flaps.flapping() ? 1 : 0;
}

void Record::keep(Time at, const Key& key, double value) {
  auto found = series_.find(key);
  if (found == series_.end()) {
    if (series_.size() >= options_.series_most && !make_room(at)) return;
    found = series_.emplace(key, Kept{Series(key.second->kind, options_.shape), at}).first;
  }
  found->second.series.put(at, value);
  found->second.at = at;
}

/// Gives up the series that was put to least lately. RETURNS: false if all are still put to.
bool Record::make_room(Time at) {
  const auto oldest =
      std::min_element(series_.begin(), series_.end(), [](const auto& a, const auto& b) {
        return a.second.at < b.second.at;
      });
  if (oldest == series_.end() || at - oldest->second.at <= options_.fresh) return false;
  series_.erase(oldest);
  return true;
}

/// A worker's counters, say, an hour after its end. Its series ends when nothing of it is left.
void Record::forget_gone(Time at) {
  const Duration kept = options_.shape.coarse_step * options_.shape.coarse_slots;
  std::erase_if(counting_, [&](const auto& one) { return at - one.second.at > kept; });
  std::erase_if(series_, [&](const auto& one) { return at - one.second.at > kept; });
}

std::vector<Reading> Record::latest(Time now) const {
  std::map<Subject, Values> merged;
  for (const auto& [source, told] : told_) {
    if (now - told.at > options_.fresh) continue;
    for (const Reading& reading : told.readings) {
      merged[reading.subject].insert(reading.values.begin(), reading.values.end());
    }
  }
  std::vector<Reading> readings;
  for (auto& [subject, values] : merged) readings.push_back({subject, std::move(values)});
  return readings;
}

std::vector<Past> Record::past(const std::string& name, const std::string& id, Time now) const {
  std::vector<Past> found;
  for (const auto& [key, kept] : series_) {
    const auto& [subject, row] = key;
    if (row->name != name || (!id.empty() && subject.id != id)) continue;
    Past past{row, subject, 0, kept.series.fine(now), kept.series.coarse(now)};
    const auto counting = counting_.find(key);
    if (counting != counting_.end()) past.resets = counting->second.track.resets();
    found.push_back(std::move(past));
  }
  return found;
}

size_t Record::size_bytes() const {
  size_t size = 0;
  for (const auto& [key, kept] : series_) size += kept.series.size_bytes();
  return size;
}

}  // namespace keiko::telemetry
