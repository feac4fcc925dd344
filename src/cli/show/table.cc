#include "cli/show/table.h"

#include <algorithm>

namespace keiko::cli {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kLeast = 6;  // columns are not cut below this

std::string text_of(const Cell& cell) {
  const std::string text = printable(cell.text);
  return text.empty() ? "-" : text;
}

/// Takes columns away from the widest shrinkable column until the line fits, or none is left.
void fit(std::vector<size_t>& widths, const std::vector<bool>& shrinks, size_t room) {
  while (true) {
    size_t total = (widths.size() - 1) * kGap;
    for (const size_t width : widths) total += width;
    if (total <= room) return;
    size_t widest = widths.size();
    for (size_t i = 0; i < widths.size(); ++i) {
      if (!shrinks[i] || widths[i] <= kLeast) continue;
      if (widest == widths.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == widths.size()) return;
    widths[widest] -= std::min(total - room, widths[widest] - kLeast);
  }
}

class TableWriter {
 public:
  TableWriter(const Table& table, const TableStyle& style, const Console& console)
      : table_(table), style_(style), console_(console) {
    std::vector<bool> shrinks;
    for (size_t i = 0; i < table.columns.size(); ++i) {
      const Column& column = table.columns[i];
      if (column.wide_only && !style.wide) continue;
      shown_.push_back(i);
      size_t width = style.headers ? display_width(column.title) : 1;
      for (const Row& row : table.rows) width = std::max(width, display_width(text_of(row[i])));
      widths_.push_back(width);
      shrinks.push_back(column.shrinks);
    }
    if (style.widths != nullptr) {
      style.widths->resize(widths_.size());
      for (size_t i = 0; i < widths_.size(); ++i) {
        widths_[i] = std::max(widths_[i], (*style.widths)[i]);
      }
      *style.widths = widths_;
    }
    if (console.terminal && !widths_.empty()) {
      fit(widths_, shrinks, static_cast<size_t>(console.size().width));
    }
  }

  std::string write() {
    if (style_.headers) {
      Row head;
      for (const Column& column : table_.columns) head.emplace_back(column.title, Colour::kBold);
      line(head);
    }
    for (const Row& row : table_.rows) line(row);
    return std::move(out_);
  }

 private:
  void line(const Row& row) {
    for (size_t i = 0; i < shown_.size(); ++i) {
      const Cell& cell = row[shown_[i]];
      const std::string text = shorten(text_of(cell), widths_[i]);
      const std::string blanks(widths_[i] - display_width(text), ' ');
      const bool last = i + 1 == shown_.size();
      if (table_.columns[shown_[i]].right) out_ += blanks + console_.paint(cell.colour, text);
      else out_ += console_.paint(cell.colour, text) + (last ? "" : blanks);
      out_ += last ? "\n" : std::string(kGap, ' ');
    }
  }

  const Table& table_;
  const TableStyle& style_;
  const Console& console_;
  std::vector<size_t> shown_;
  std::vector<size_t> widths_;
  std::string out_;
};

}  // namespace

std::string table_text(const Table& table, const TableStyle& style, const Console& console) {
  return TableWriter(table, style, console).write();
}

}  // namespace keiko::cli
