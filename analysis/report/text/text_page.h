// The page that the sections of the text output are written on: headings, wrapped sentences, tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/report.h"
#include "analysis/report/text/text_table.h"

namespace lockstep {

enum class Emphasis : uint8_t { kPlain, kStrong, kGood, kBad, kFaint };

class TextPage {
 public:
  explicit TextPage(const TextOptions& options) : options_(options) {}

  // A line of its own after an empty one; `note` stands faintly behind it.
  void Heading(std::string_view title, std::string_view note = "");
  // A sentence, made printable and wrapped; further lines are indented by `indent` + `hanging`.
  void Line(std::string_view text, int indent = 2, int hanging = 0, Emphasis emphasis = Emphasis::kPlain);
  // "name  text", the text wrapped in its own column.
  void Item(std::string_view name, size_t name_width, std::string_view text, Emphasis emphasis = Emphasis::kPlain);
  // A table, or `none` if it has no rows.
  template <typename Row>
  void Table(const std::vector<Row>& rows, const std::type_identity_t<std::vector<Column<Row>>>& columns,
             std::string_view none = "(nothing)") {
    WriteTable(RenderTable(rows, columns, OptionsOfTable()), none);
  }
  // As it is.
  void Raw(std::string_view line);

  [[nodiscard]] const TextOptions& options() const { return options_; }
  [[nodiscard]] std::string Take() { return std::move(text_); }

 private:
  [[nodiscard]] TableOptions OptionsOfTable() const { return {options_.width, options_.max_rows, 2}; }
  void WriteTable(const std::string& table, std::string_view none);
  [[nodiscard]] std::string Emphasised(std::string_view text, Emphasis emphasis) const;

  TextOptions options_;
  std::string text_;
};

}  // namespace lockstep
