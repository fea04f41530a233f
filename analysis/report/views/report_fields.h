// Reading a report document that may come from another process: what is missing, or of another type than expected,
// counts as absent. Pure and thread safe; references live as long as the document.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/report/report.h"

namespace lockstep {

// The value behind a path of keys joined by dots ("duration_ns.p50"); a null where there is none.
[[nodiscard]] const Json& FieldOf(const Json& object, std::string_view path);

// As FieldOf, but an empty list where the value is none.
[[nodiscard]] const Json& ListOf(const Json& object, std::string_view path);

// A copy of a list to which fields are added: what is no object becomes an empty one.
[[nodiscard]] Json RowsOf(const Json& list);

[[nodiscard]] std::optional<int64_t> IntegerOf(const Json& value);
// Any number.
[[nodiscard]] std::optional<double> RealOf(const Json& value);
// The number behind a path; 0 where there is none.
[[nodiscard]] double RatioOf(const Json& object, std::string_view path);
// "" unless it is a string.
[[nodiscard]] const std::string& TextOf(const Json& value);

// A view that is there and holds something.
[[nodiscard]] bool HasContent(const Json& view);

// A real as RenderJson writes it.
[[nodiscard]] std::string RealText(double value);

// A scalar as RenderJson writes it, without the quotes of a string; "" for null.
[[nodiscard]] std::string PlainText(const Json& scalar);

}  // namespace lockstep
