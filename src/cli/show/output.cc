#include "cli/show/output.h"

#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/exit_code.h"
#include "cli/job/yaml_tree.h"
#include "cli/show/live_screen.h"
#include "wire/json.h"

namespace keiko::cli {
namespace {

using Json = nlohmann::ordered_json;

/// How often -w asks.
constexpr Duration kWatchPeriod = seconds(1);

std::string scalar_text(const Json& json) {
  return json.is_string() ? yaml_scalar(json.get<std::string>()) : json.dump();
}

void write_yaml(const Json& json, size_t indent, std::string& out) {
  const std::string blanks(indent, ' ');
  if (json.is_array()) {
    for (const Json& item : json) {
      out += blanks + "- ";
      if (item.is_structured() && !item.empty()) {
        std::string inner;
        write_yaml(item, indent + 2, inner);
        out += inner.substr(indent + 2);  // the first line stands behind the dash
      } else {
        out += (item.is_array() ? "[]" : item.is_object() ? "{}" : scalar_text(item)) + "\n";
      }
    }
    return;
  }
  for (const auto& [key, value] : json.items()) {
    out += blanks + yaml_scalar(key) + ":";
    if (value.is_structured() && !value.empty()) {
      out += "\n";
      write_yaml(value, value.is_array() ? indent : indent + 2, out);
    } else {
      out += std::string(" ") +
             (value.is_array() ? "[]" : value.is_object() ? "{}" : scalar_text(value)) + "\n";
    }
  }
}

std::string names_text(const Table& table) {
  std::string out;
  for (const Row& row : table.rows) out += printable(row[0].text) + "\n";
  return out;
}

std::string listing_text(const Listing& listing, const OutputChoice& choice,
                         const Console& console) {
  if (choice.format == "name") return names_text(listing.table);
  if (!choice.is_table()) return message_text(*listing.message, choice);
  return table_text(listing.table, choice.style(), console);
}

/// Appends what is new since the last time, for a reader that is no terminal.
class RowAppender {
 public:
  RowAppender(const OutputChoice& choice, const Console& console)
      : choice_(choice), console_(console) {}

  void show(const Listing& listing) {
    if (!choice_.is_table()) {
      const std::string text = listing_text(listing, choice_, console_);
      if (text != last_) console_.out(text);
      last_ = text;
      return;
    }
    // Ages change with every look; a row is news only if something else in it is.
    Table news{listing.table.columns, {}};
    for (const Row& row : listing.table.rows) {
      std::string content;
      for (size_t i = 0; i < row.size(); ++i) {
        if (listing.table.columns[i].title != "AGE") content += row[i].text + '\0';
      }
      std::string& known = rows_[row[0].text];
      if (known == content) continue;
      known = content;
      news.rows.push_back(row);
    }
    const TableStyle style{choice_.format == "wide", !choice_.no_headers && first_, &widths_};
    if (first_ || !news.rows.empty()) console_.out(table_text(news, style, console_));
    first_ = false;
  }

 private:
  const OutputChoice& choice_;
  const Console& console_;
  std::map<std::string, std::string> rows_;
  std::string last_;
  std::vector<size_t> widths_;
  bool first_ = true;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines = split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace

void add_output_options(OptionSet& options, OutputChoice& choice) {
  Option& format = options.text("-o,--output", "FORMAT", choice.format, "how to print");
  format.choices = {"table", "wide", "json", "yaml", "name"};
  format.completes = Completes::kChoices;
  options.flag("-w,--watch", choice.watch, "print again whenever something changes");
  options.flag("--no-headers", choice.no_headers, "no line of column names");
}

std::string json_to_yaml(const std::string& json) {
  const Json parsed = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  std::string out;
  if (parsed.is_structured() && !parsed.empty()) write_yaml(parsed, 0, out);
  else out = (parsed.is_array() ? "[]" : parsed.is_object() ? "{}" : scalar_text(parsed)) + "\n";
  return out;
}

std::string message_text(const google::protobuf::Message& message, const OutputChoice& choice) {
  std::string json = to_json(message, /*pretty=*/true);
  if (choice.format == "yaml") return json_to_yaml(json);
  if (!json.ends_with('\n')) json += '\n';
  return json;
}

Result<int> show_listing(const OutputChoice& choice, const Console& console,
                         const std::function<Result<Listing>()>& ask) {
  if (!choice.watch) {
    const Listing listing = TRY(ask());
    console.out(listing_text(listing, choice, console));
    if (choice.is_table() && !listing.note.empty()) console.hint(listing.note);
    return kExitOk;
  }
  catch_interrupts();
  RowAppender appender(choice, console);
  LiveScreen screen(console);
  while (true) {
    Result<Listing> listing = ask();
    if (!listing.ok()) {
      screen.close();
      return std::move(listing).error();
    }
    if (console.terminal) screen.draw(lines_of(listing_text(*listing, choice, console)));
    else appender.show(*listing);
    if (console.wait(kWatchPeriod) > 0) break;
  }
  screen.close();
  return kExitCancelled;
}

}  // namespace keiko::cli
