#include "analysis/report/text/cell.h"

#include "analysis/report/json.h"
#include "analysis/report/views/report_fields.h"

namespace lockstep {

Cell::Cell(const Json& value) {
  if (const auto whole = IntegerOf(value)) {
    *this = Cell(*whole);
  } else if (const auto real = RealOf(value)) {
    *this = Cell(*real);
  } else if (value.is_array()) {
    for (const Json& item : value) {
      if (&item != &value.front()) text_ += ',';
      text_ += item.is_structured() ? "" : PlainText(item);
    }
    kind_ = text_.empty() ? Kind::kNothing : Kind::kText;
  } else if (!value.is_null() && !value.is_object()) {
    *this = Cell(PlainText(value));
  }
}

std::optional<double> Cell::Real() const {
  if (!IsNumber()) return std::nullopt;
  return kind_ == Kind::kReal ? real_ : static_cast<double>(whole_);
}

std::optional<int64_t> Cell::Whole() const { return kind_ == Kind::kWhole ? std::optional(whole_) : std::nullopt; }

std::string Cell::Text() const {
  if (kind_ == Kind::kWhole) return std::to_string(whole_);
  return kind_ == Kind::kReal ? RealText(real_) : text_;
}

}  // namespace lockstep
