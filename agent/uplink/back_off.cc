#include "agent/uplink/back_off.h"

#include <utility>

namespace lockstep {

BackOff::BackOff(const BackOffOptions& options, std::function<double()> random)
    : options_(options), random_(std::move(random)), ceiling_ns_(options.initial_ns) {}

int64_t BackOff::NextDelayNs() {
  const int64_t half_ns = ceiling_ns_ / 2;
  const int64_t jitter_ns = static_cast<int64_t>(random_() * static_cast<double>(ceiling_ns_ - half_ns));
  ceiling_ns_ = ceiling_ns_ > options_.max_ns / 2 ? options_.max_ns : ceiling_ns_ * 2;
  return half_ns + jitter_ns;
}

void BackOff::Reset() { ceiling_ns_ = options_.initial_ns; }

}  // namespace lockstep
