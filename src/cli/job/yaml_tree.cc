#include "cli/job/yaml_tree.h"

#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "base/text.h"

namespace keiko::cli {
namespace {

/// Stops yaml-cpp from within an event; never leaves this file.
struct Refusal {
  Problem problem;
};

Mark to_mark(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {mark.line + 1, mark.column + 1};
}

struct Weight {
  size_t nodes = 1;
  size_t bytes = 0;
};

Weight weigh(const YamlNode& node) {
  Weight weight{1, node.text.size()};
  const auto add = [&weight](const YamlNode& child) {
    const Weight more = weigh(child);
    weight.nodes += more.nodes;
    weight.bytes += more.bytes;
  };
  for (const YamlNode& item : node.items) add(item);
  for (const auto& [key, value] : node.entries) {
    add(key);
    add(value);
  }
  return weight;
}

int depth_of(const YamlNode& node) {
  int deepest = 0;
  for (const YamlNode& item : node.items) deepest = std::max(deepest, depth_of(item));
  for (const auto& [key, value] : node.entries) {
    deepest = std::max({deepest, depth_of(key), depth_of(value)});
  }
  return deepest + 1;
}

void move_marks(YamlNode& node, Mark mark) {
  node.mark = mark;
  for (YamlNode& item : node.items) move_marks(item, mark);
  for (auto& [key, value] : node.entries) {
    move_marks(key, mark);
    move_marks(value, mark);
  }
}

/// Builds the tree from yaml-cpp's events, with the caps checked before anything grows.
class TreeBuilder : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode node;
    node.mark = to_mark(mark);
    add(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) {
      throw Refusal{{to_mark(mark), "this alias stands inside what it refers to; "
                                    "write the value out instead"}};
    }
    // Weighed and measured before it is copied: a bomb of aliases is refused, not built.
    const Weight weight = weigh(found->second);
    charge(to_mark(mark), weight);
    check_depth(to_mark(mark), static_cast<int>(open_.size()) + depth_of(found->second));
    YamlNode copy = found->second;
    move_marks(copy, to_mark(mark));
    attach(std::move(copy));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node;
    node.mark = to_mark(mark);
    // yaml-cpp tags a plain scalar "?" and a quoted one "!".
    node.quoted = tag != "?" && !tag.empty();
    node.text = value;
    const bool null = !node.quoted && (value == "~" || value == "null" || value.empty());
    node.kind = null ? YamlKind::kNull : YamlKind::kScalar;
    add(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlKind::kList, to_mark(mark), anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(YamlKind::kMap, to_mark(mark), anchor);
  }
  void OnMapEnd() override { close(); }

  YamlNode take_root() { return std::move(root_); }

 private:
  struct Open {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    YamlNode key;
  };

  void charge(Mark mark, Weight weight) {
    nodes_ += weight.nodes;
    bytes_ += weight.bytes;
    if (nodes_ > kMaxYamlNodes || bytes_ > kMaxYamlBytes) {
      throw Refusal{{mark, "the document is too large once its aliases are written out; "
                           "use fewer aliases, or put large values into files"}};
    }
  }

  static void check_depth(Mark mark, int depth) {
    if (depth > kMaxYamlDepth) {
      throw Refusal{{mark, "nests more than " + std::to_string(kMaxYamlDepth) +
                               " deep; no job needs that"}};
    }
  }

  void add(YamlNode node, YAML::anchor_t anchor) {
    charge(node.mark, {1, node.text.size()});
    if (anchor != 0) anchored_[anchor] = node;
    attach(std::move(node));
  }

  void open(YamlKind kind, Mark mark, YAML::anchor_t anchor) {
    check_depth(mark, static_cast<int>(open_.size()) + 1);
    charge(mark, {1, 0});
    Open next;
    next.node.kind = kind;
    next.node.mark = mark;
    next.anchor = anchor;
    open_.push_back(std::move(next));
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    if (done.anchor != 0) {
      // An anchored copy is kept beside the node itself, so it is charged as well.
      charge(done.node.mark, weigh(done.node));
      anchored_[done.anchor] = done.node;
    }
    attach(std::move(done.node));
  }

  void attach(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == YamlKind::kList) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.has_key) {
      parent.key = std::move(node);
      parent.has_key = true;
    } else {
      parent.node.entries.push_back({std::move(parent.key), std::move(node)});
      parent.has_key = false;
    }
  }

  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlNode> anchored_;
  YamlNode root_;
  size_t nodes_ = 0;
  size_t bytes_ = 0;
};

}  // namespace

YamlReading read_yaml(std::string_view text) {
  YamlReading reading;
  const auto refuse = [&reading](Mark mark, std::string message) {
    reading.root = YamlNode{};
    reading.problems.push_back({mark, std::move(message)});
  };
  if (text.size() > kMaxYamlBytes) {
    refuse({}, "is larger than 256KiB; a job file is small, put large values into files");
    return reading;
  }
  if (text.find('\0') != std::string_view::npos) {
    refuse({}, "contains a NUL byte; is this a text file?");
    return reading;
  }
  try {
    // With an end that no quoted text may hold, so that a quote that is never closed is found.
    std::istringstream stream{std::string(text) + "\n...\n"};
    YAML::Parser parser(stream);
    TreeBuilder builder;
    if (parser.HandleNextDocument(builder)) reading.root = builder.take_root();
    TreeBuilder second;
    if (parser.HandleNextDocument(second)) {
      refuse({}, "holds more than one document ('---'); submit one file for each job");
    }
  } catch (const Refusal& refusal) {
    refuse(refusal.problem.mark, refusal.problem.message);
  } catch (const YAML::Exception& error) {
    refuse(to_mark(error.mark), "is not YAML here: " + error.msg);
  } catch (const std::exception& error) {
    refuse({}, std::string("is not YAML: ") + error.what());
  }
  return reading;
}

std::string describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlKind::kNull: return "empty";
    case YamlKind::kList: return "a list";
    case YamlKind::kMap: return "a map of keys";
    case YamlKind::kScalar: break;
  }
  const std::string shown = node.text.size() > 40 ? node.text.substr(0, 37) + "..." : node.text;
  return quote_text(shown);
}

std::string yaml_scalar(std::string_view text) {
  static constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";
  static const std::vector<std::string> kWords = {"null", "true", "false", "yes", "no",
                                                  "on",   "off",  "~",     "y",   "n"};
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  bool plain = !text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos &&
               text[0] != '-' && text[0] != '.' && text[0] != '+';
  // A number would be read back as a number by other readers of the file.
  plain = plain && (text[0] < '0' || text[0] > '9' || text.back() < '0' || text.back() > '9');
  for (const std::string& word : kWords) plain = plain && lower != word;
  return plain ? std::string(text) : quote_text(text);
}

}  // namespace keiko::cli
