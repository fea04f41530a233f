// How many random cases a test draws. Under a sanitizer a case takes up to twenty times as long.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace lockstep {

// So many, or the percentage of them that the environment's LOCKSTEP_DRAWS asks for; at least one.
inline int Draws(int usual) {
  const char* const text = std::getenv("LOCKSTEP_DRAWS");
  if (text == nullptr) return usual;
  const std::string_view digits(text);
  int percent = 100;
  std::from_chars(digits.data(), digits.data() + digits.size(), percent);
  return std::max(1, usual * std::max(1, percent) / 100);
}

}  // namespace lockstep
