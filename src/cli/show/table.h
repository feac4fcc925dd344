// Tables as squeue and kubectl users read them: a head in capitals, columns two blanks apart, the
// last one as long as it is. On a terminal the table keeps to its width.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace keiko::cli {

struct Column {
  std::string title;
  bool right = false;      ///< numbers end below one another
  bool wide_only = false;  ///< shown with -o wide alone
  bool shrinks = false;    ///< cut first where the terminal is too narrow
};

struct Cell {
  Cell(std::string given, Colour colour_of_text = Colour::kPlain)  // NOLINT: a text is a cell
      : text(std::move(given)), colour(colour_of_text) {}
  Cell(const char* given) : text(given) {}  // NOLINT
  std::string text;
  Colour colour = Colour::kPlain;
};

using Row = std::vector<Cell>;

struct Table {
  std::vector<Column> columns;
  std::vector<Row> rows;   ///< one cell for each column, those for -o wide included
};

struct TableStyle {
  bool wide = false;
  bool headers = true;
  /// If set: no column is narrower than here, and the widths used are left here, so that rows
  /// appended later stand below those before.
  std::vector<size_t>* widths = nullptr;
};

/// RETURNS: the table as lines, each ended. Empty cells show as "-".
std::string table_text(const Table& table, const TableStyle& style, const Console& console);

}  // namespace keiko::cli
