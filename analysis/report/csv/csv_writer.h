// Rows of comma-separated values: quoting of RFC 4180, lines end with a newline, and nothing a spreadsheet would run as
// a formula. Pure and thread safe.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/report/fields/record.h"
#include "analysis/report/report.h"

namespace lockstep {

// Text from a trace: what would move a cursor or hide is a question mark; what begins with = + - @ or a control
// character gets an apostrophe in front.
[[nodiscard]] std::string GuardFormula(std::string_view text);

// Quoted only where it must be.
[[nodiscard]] std::string QuoteCell(std::string_view cell);

// One line of cells that are quoted here.
[[nodiscard]] std::string CsvLine(const std::vector<std::string>& cells);

// A value as one cell, not yet quoted: null is empty, text guarded, a list of scalars joined by blanks, anything else
// as compact JSON.
[[nodiscard]] std::string CsvCell(const Json& value);

using CsvFields = std::vector<std::pair<std::string, std::string>>;

// The scalars of a row in its order; nested objects flatten with "_". A null is an empty cell.
[[nodiscard]] CsvFields FlattenRow(const Json& row);

// The columns that every row of a record has, flattened in the same way.
[[nodiscard]] std::vector<std::string> ColumnsOf(const report::Record& record);

// Header and rows: `columns` first, then what the rows have beyond them, in the order met.
[[nodiscard]] std::string WriteCsv(std::vector<std::string> columns, const Json& rows);

}  // namespace lockstep
