#include "cli/place/place_file.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/id.h"
#include "base/text.h"
#include "cli/job/job_file.h"

namespace keiko::cli {
namespace {

/// "gpu[01-16,20]" cut at its brackets; without brackets all of it is `before`.
struct Pattern {
  std::string before;
  std::string ranges;
  std::string behind;
  bool bracketed = false;
};

bool cut(const std::string& text, Pattern& pattern) {
  const size_t open = text.find('[');
  const size_t close = text.find(']');
  if (open == std::string::npos && close == std::string::npos) {
    pattern.before = text;
    return !text.empty();
  }
  if (open == std::string::npos || close == std::string::npos || close < open) return false;
  pattern = {text.substr(0, open), text.substr(open + 1, close - open - 1),
             text.substr(close + 1), true};
  return pattern.behind.find_first_of("[]") == std::string::npos;
}

/// "01-16" or "20".
struct Range {
  uint64_t first = 0;
  uint64_t last = 0;
  size_t width = 0;  ///< of names that begin with 0; else 0

  bool holds(const std::string& digits) const {
    uint64_t number = 0;
    if (!parse_digits(digits, number) || number < first || number > last) return false;
    return digits.size() == std::max(width, std::to_string(number).size());
  }
};

/// RETURNS: false if it is no range.
bool read_range(const std::string& text, Range& range) {
  const size_t dash = text.find('-');
  const std::string first = text.substr(0, dash);
  const std::string last = dash == std::string::npos ? first : text.substr(dash + 1);
  if (!parse_digits(first, range.first) || !parse_digits(last, range.last)) return false;
  range.width = first.front() == '0' ? first.size() : 0;
  return range.first <= range.last;
}

class PlaceReader {
 public:
  explicit PlaceReader(const std::string& node) : node_(node) {}

  void read(const YamlNode& root) {
    for (const YamlEntry& entry : entries_of(root, "zones or racks")) {
      if (entry.key.text == "zones") {
        for (const YamlEntry& zone : entries_of(entry.value, "zones")) read_zone(zone);
      } else if (entry.key.text == "racks") {
        read_racks(entry.value, "");
      } else {
        complain(entry.key, "unknown key " + quote_text(entry.key.text) +
                                "; write zones: or racks:");
      }
    }
  }

  PlaceReading take() { return std::move(reading_); }

 private:
  void read_zone(const YamlEntry& zone) {
    for (const YamlEntry& entry : entries_of(zone.value, "racks:")) {
      if (entry.key.text == "racks") {
        read_racks(entry.value, zone.key.text);
      } else {
        complain(entry.key, "unknown key " + quote_text(entry.key.text) + "; write racks:");
      }
    }
  }

  void read_racks(const YamlNode& racks, const std::string& zone) {
    for (const YamlEntry& rack : entries_of(racks, "racks")) {
      if (rack.value.kind != YamlKind::kList) {
        complain(rack.value, "the nodes of rack " + rack.key.text + " must be a list, not " +
                                 describe(rack.value));
        continue;
      }
      for (const YamlNode& item : rack.value.items) {
        if (holds(item)) place(item, zone, rack.key.text);
      }
    }
  }

  const std::vector<YamlEntry>& entries_of(const YamlNode& node, const std::string& what) {
    static const std::vector<YamlEntry> kNone;
    if (node.kind == YamlKind::kMap) return node.entries;
    complain(node, "expected a map of " + what + ", not " + describe(node));
    return kNone;
  }

  /// Whether the pattern stands for our node. Every pattern is checked, whosever it is.
  bool holds(const YamlNode& item) {
    Pattern pattern;
    if (item.kind != YamlKind::kScalar || !cut(item.text, pattern)) {
      complain(item, describe(item) + " is no node; write gpu7 or gpu[01-16,20]");
      return false;
    }
    if (!pattern.bracketed) return node_ == pattern.before;
    const bool around = node_.size() > pattern.before.size() + pattern.behind.size() &&
                        node_.starts_with(pattern.before) && node_.ends_with(pattern.behind);
    const std::string number =
        around ? node_.substr(pattern.before.size(), node_.size() - pattern.before.size() -
                                                         pattern.behind.size())
               : "";
    bool found = false;
    for (const std::string& part : split(pattern.ranges, ',')) {
      Range range;
      if (!read_range(part, range)) {
        complain(item, quote_text(part) + " is no range; write 7 or 01-16");
        return false;
      }
      found = found || (around && range.holds(number));
    }
    return found;
  }

  void place(const YamlNode& item, const std::string& zone, const std::string& rack) {
    std::map<std::string, std::string> labels = {{"rack", rack}};
    if (!zone.empty()) labels["zone"] = zone;
    if (reading_.labels.empty()) reading_.labels = labels;
    if (reading_.labels != labels) {
      complain(item,
               node_ + " stands in two racks: " + reading_.labels.at("rack") + " and " + rack);
    }
  }

  void complain(const YamlNode& node, const std::string& message) {
    reading_.problems.push_back({node.mark, message});
  }

  const std::string& node_;
  PlaceReading reading_;
};

}  // namespace

PlaceReading read_place(std::string_view text, const std::string& node) {
  YamlReading yaml = read_yaml(text);
  if (!yaml.problems.empty()) return {{}, std::move(yaml.problems)};
  PlaceReader reader(node);
  reader.read(yaml.root);
  return reader.take();
}

Result<std::map<std::string, std::string>> load_place_file(const std::string& path,
                                                           const std::string& node) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return not_found(path + ": cannot be read; --place names the file of zones and racks");
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  PlaceReading reading = read_place(text, node);
  if (reading.problems.empty()) return std::move(reading.labels);
  return invalid_argument(problems_text(path, reading.problems), path);
}

}  // namespace keiko::cli
