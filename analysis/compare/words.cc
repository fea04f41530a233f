#include "analysis/compare/words.h"

#include <fmt/format.h>

#include <cmath>

#include "analysis/base/unit_text.h"

namespace lockstep::compare {

std::string SignedTime(double ns) { return fmt::format("{}{}", ns < 0 ? "-" : "+", TimeText(std::abs(ns))); }

std::string SignedPercent(double ratio) { return fmt::format("{:+.1f} %", 100 * ratio); }

std::string PlainPercent(double ratio) { return fmt::format("{:.1f} %", 100 * ratio); }

}  // namespace lockstep::compare
