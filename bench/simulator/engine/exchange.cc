#include "bench/simulator/engine/exchange.h"

namespace lockstep {
namespace {

constexpr uint64_t kOneInNothing = 12;  // pairs that exchange nothing
constexpr double kLeastShare = 0.4;
constexpr double kShareRange = 1.2;

}  // namespace

Exchange::Exchange(const RankGroup& group, const Op& op, int64_t step, const CauseEffects* effects,
                   const CounterRng& rng)
    : even_bytes_(static_cast<double>(op.bytes) / static_cast<double>(group.members.size())), returns_(op.returns) {
  sides_.reserve(group.members.size());
  for (const int32_t rank : group.members) {
    sides_.push_back({.draws = OpDraws(rng, rank, step, op.exchange),
                      .work = effects == nullptr ? 1.0 : effects->WorkFactor(rank, step),
                      .experts = effects == nullptr ? 1.0 : effects->ExpertFactor(rank, step)});
  }
}

int64_t Exchange::Tokens(size_t owner, size_t expert) const {
  const uint64_t bits = sides_[owner].draws.Bits(Purpose::kPairShare, expert);
  if (owner != expert && (bits >> 32) % kOneInNothing == 0) return 0;
  const double share = kLeastShare + kShareRange * static_cast<double>(bits & 0xffffffff) * 0x1p-32;
  return static_cast<int64_t>(even_bytes_ * share * sides_[owner].work * sides_[expert].experts / 2) * 2;
}

int64_t Exchange::Sent(size_t position) const {
  int64_t sum = 0;
  for (size_t to = 0; to < sides_.size(); ++to) sum += Pair(position, to);
  return sum;
}

}  // namespace lockstep
