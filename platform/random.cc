#include "platform/random.h"

#include <memory>
#include <random>

namespace lockstep {

RandomUnit SystemRandom() {
  // Shared, because std::function copies what it holds.
  auto engine = std::make_shared<std::mt19937_64>(std::random_device{}());
  return [engine] { return std::uniform_real_distribution<double>(0.0, 1.0)(*engine); };
}

}  // namespace lockstep
