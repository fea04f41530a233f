#include "bench/simulator/engine/op_draws.h"

#include <cmath>

namespace lockstep {
namespace {

constexpr double kLn2 = 0x1.62e42fefa39efp-1;

// The four 16-bit parts of a word added up.
uint64_t SumOfParts(uint64_t bits) {
  const uint64_t pairs = (bits & 0x0000ffff0000ffffULL) + ((bits >> 16) & 0x0000ffff0000ffffULL);
  return (pairs & 0xffffffffULL) + (pairs >> 32);
}

}  // namespace

double MinusLog(double u) {
  int exponent = 0;
  const double m = std::frexp(u, &exponent);  // [0.5, 1)
  const double y = (m - 1) / (m + 1);         // ln m = 2 atanh y, |y| <= 1/3
  const double y2 = y * y;
  double series = 0;
  for (int k = 21; k >= 1; k -= 2) series = series * y2 + 1.0 / k;
  return -(2 * y * series + exponent * kLn2);
}

double OpDraws::Normal(Purpose purpose) const {
  const uint64_t sum = SumOfParts(Bits(purpose, 1)) + SumOfParts(Bits(purpose, 2)) + SumOfParts(Bits(purpose, 3));
  return static_cast<double>(sum) / 65536.0 + 12 * 0.5 / 65536.0 - 6.0;
}

double OpDraws::Exponential(Purpose purpose) const { return MinusLog(1.0 - Unit(purpose)); }

}  // namespace lockstep
