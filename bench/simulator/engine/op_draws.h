// The random numbers of one op of one rank, or of one instance of a communicator: its key is hashed once, each purpose
// costs one more round. As reproducible as CounterRng, and a good deal faster. Thread safe.
#pragma once

#include <cstdint>

#include "bench/simulator/cluster/counter_rng.h"

namespace lockstep {

class OpDraws {
 public:
  OpDraws(const CounterRng& rng, int32_t rank, int64_t step, uint32_t op)
      : base_(rng.Bits({.rank = rank, .step = step, .op = op, .purpose = Purpose::kOp})) {}

  [[nodiscard]] uint64_t Bits(Purpose purpose, uint64_t lane = 0) const {
    uint64_t x = base_ + (static_cast<uint64_t>(purpose) + (lane << 32)) * 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }
  // In [0, 1).
  [[nodiscard]] double Unit(Purpose purpose) const { return static_cast<double>(Bits(purpose) >> 11) * 0x1.0p-53; }
  // In [low, high], both included.
  [[nodiscard]] int64_t Int(Purpose purpose, int64_t low, int64_t high) const {
    return Scaled(Bits(purpose) >> 32, 32, low, high);
  }
  // The same of one of the four 16-bit parts of a draw, for ranges that are small against 65,536.
  [[nodiscard]] static int64_t Part(uint64_t bits, int part, int64_t low, int64_t high) {
    return Scaled((bits >> (16 * part)) & 0xffff, 16, low, high);
  }
  // Mean 0, variance 1, never beyond 6 (sum of twelve uniforms).
  [[nodiscard]] double Normal(Purpose purpose) const;
  // Mean 1.
  [[nodiscard]] double Exponential(Purpose purpose) const;

 private:
  [[nodiscard]] static int64_t Scaled(uint64_t value, int width, int64_t low, int64_t high) {
    return low + static_cast<int64_t>((value * (static_cast<uint64_t>(high - low) + 1)) >> width);
  }
  uint64_t base_;
};

// exp(x) for small |x| and -ln(u) for u in (0, 1], from basic arithmetic alone: the same bits on every machine.
[[nodiscard]] constexpr double ExpNearZero(double x) { return 1 + x + x * x / 2; }
[[nodiscard]] double MinusLog(double u);

}  // namespace lockstep
