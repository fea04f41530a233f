#include "bench/simulator/cluster/counter_rng.h"

namespace lockstep {
namespace {

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

double UnitInterval(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

}  // namespace

uint64_t CounterRng::Bits(const DrawKey& key, uint64_t lane) const {
  uint64_t x = Mix(seed_ ^ (lane << 56));
  x = Mix(x ^ static_cast<uint32_t>(key.rank));
  x = Mix(x ^ static_cast<uint64_t>(key.step));
  return Mix(x ^ ((static_cast<uint64_t>(key.op) << 32) | static_cast<uint64_t>(key.purpose)));
}

double CounterRng::Uniform(const DrawKey& key, double low, double high) const {
  return low + (high - low) * UnitInterval(Bits(key));
}

int64_t CounterRng::UniformInt(const DrawKey& key, int64_t low, int64_t high) const {
  const auto width = static_cast<uint64_t>(high - low) + 1;
  return low + static_cast<int64_t>(Bits(key) % width);
}

double CounterRng::Normal(const DrawKey& key) const {
  int64_t sum = 0;
  for (uint64_t lane = 1; lane <= 3; ++lane) {
    const uint64_t bits = Bits(key, lane);
    for (int shift = 0; shift < 64; shift += 16) sum += static_cast<int64_t>((bits >> shift) & 0xffff);
  }
  return static_cast<double>(sum) / 65536.0 + 12 * 0.5 / 65536.0 - 6.0;
}

bool CounterRng::Chance(const DrawKey& key, double probability) const { return UnitInterval(Bits(key)) < probability; }

}  // namespace lockstep
