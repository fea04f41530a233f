// What a cell of a table, or a figure in a sentence, is made from: nothing, a number, or text. Pure and thread safe.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/report/fields/values.h"
#include "analysis/report/report.h"

namespace lockstep {

class Cell {
 public:
  Cell() = default;  // nothing: "-"
  // Implicit, since a cell stands for its value.
  template <std::integral T>
  Cell(T number) : kind_(Kind::kWhole), whole_(static_cast<int64_t>(number)) {}
  Cell(bool truth) : Cell(truth ? "true" : "false") {}
  Cell(double number) : kind_(Kind::kReal), real_(number) {}
  Cell(report::Count number) : Cell(number.value) {}
  Cell(report::Figure number) : Cell(std::visit([](auto known) { return Cell(known); }, number.value)) {}
  Cell(std::string text) : kind_(Kind::kText), text_(std::move(text)) {}
  Cell(std::string_view text) : Cell(std::string(text)) {}
  Cell(const char* text) : Cell(std::string(text)) {}
  template <typename T>
  Cell(const std::optional<T>& value) {
    if (value) *this = Cell(*value);
  }
  // Joined by commas; nothing for an empty list.
  template <typename T>
  Cell(const std::vector<T>& list) : kind_(list.empty() ? Kind::kNothing : Kind::kText) {
    for (const T& item : list) text_ += (text_.empty() ? "" : ",") + Cell(item).Text();
  }
  // The scalar, or the list of scalars, of a document.
  Cell(const Json& value);

  [[nodiscard]] bool IsNothing() const { return kind_ == Kind::kNothing; }
  [[nodiscard]] bool IsNumber() const { return kind_ == Kind::kWhole || kind_ == Kind::kReal; }
  [[nodiscard]] std::optional<double> Real() const;
  [[nodiscard]] std::optional<int64_t> Whole() const;
  // A number as JSON has it; "" for nothing.
  [[nodiscard]] std::string Text() const;

 private:
  enum class Kind : uint8_t { kNothing, kWhole, kReal, kText };

  Kind kind_ = Kind::kNothing;
  int64_t whole_ = 0;
  double real_ = 0;
  std::string text_;
};

}  // namespace lockstep
