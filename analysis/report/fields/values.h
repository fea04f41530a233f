// Types of fields whose text in a report differs from what their C++ type alone would say.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lockstep::report {

// A whole number that is never negative.
struct Count {
  int64_t value = 0;

  constexpr Count() = default;
  constexpr Count(int64_t number) : value(number) {}                       // NOLINT: stands for its number
  constexpr Count(size_t number) : value(static_cast<int64_t>(number)) {}  // NOLINT
  constexpr Count(int32_t number) : value(number) {}                       // NOLINT
  constexpr operator int64_t() const { return value; }                     // NOLINT
};

// A whole number that may exceed 2^53, which many JSON readers do not keep: it is written as a string of digits.
struct Digits {
  int64_t value = 0;

  constexpr Digits() = default;
  constexpr Digits(int64_t number) : value(number) {}   // NOLINT
  constexpr operator int64_t() const { return value; }  // NOLINT
};

// A number that is whole in some rows and a real in others, such as nanoseconds and their means. It is written as what
// it was made from.
struct Figure {
  std::variant<int64_t, double> value;

  constexpr Figure() = default;
  constexpr Figure(int64_t number) : value(number) {}  // NOLINT
  constexpr Figure(double number) : value(number) {}   // NOLINT
  [[nodiscard]] constexpr double Real() const {
    const int64_t* whole = std::get_if<int64_t>(&value);
    return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
  }
};

// An object whose keys are data, in the order of its keys here.
template <typename Value>
using Keyed = std::vector<std::pair<std::string, Value>>;

}  // namespace lockstep::report
