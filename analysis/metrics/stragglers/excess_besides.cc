#include "analysis/metrics/stragglers/excess_besides.h"

#include <algorithm>
#include <cmath>

namespace lockstep {

ExcessBesides::ExcessBesides(const std::vector<int32_t>& late, const std::vector<RankOwnTime>& own)
    : late_(late), own_(own) {
  for (const int32_t rank : late) {
    const RankOwnTime& of = own[static_cast<size_t>(rank)];
    if (of.compared) communicators_.try_emplace(of.communicator);
  }
  for (size_t rank = 0; rank < own.size(); ++rank) {
    const auto at = communicators_.find(own[rank].communicator);
    if (at != communicators_.end() && own[rank].compared) at->second.ranks.push_back(rank);
  }
  for (auto& [number, communicator] : communicators_) {
    for (size_t unit = 0; unit < own[communicator.ranks.front()].excess_ns.size(); ++unit) {
      communicator.units.push_back(MembersOf(communicator, [&](size_t rank) { return own_[rank].excess_ns[unit]; }));
    }
    for (size_t part = 0; part < kLatenessParts; ++part) {
      communicator.parts.push_back(MembersOf(communicator, [&](size_t rank) { return own_[rank].excess_parts[part]; }));
    }
  }
}

bool ExcessBesides::IsLate(size_t rank) const {
  return std::binary_search(late_.begin(), late_.end(), static_cast<int32_t>(rank));
}

const ExcessBesides::Communicator* ExcessBesides::CommunicatorOf(size_t rank) const {
  const auto at = communicators_.find(own_[rank].communicator);
  return at == communicators_.end() ? nullptr : &at->second;
}

template <typename Excess>
ExcessBesides::Members ExcessBesides::MembersOf(const Communicator& communicator, const Excess& excess) const {
  Members members;
  double usual_excess = 0;
  for (const size_t rank : communicator.ranks) {
    const double of = excess(rank);
    if (std::isnan(of)) continue;
    ++members.all;
    if (IsLate(rank)) continue;
    ++members.usual;
    usual_excess += of;
  }
  // An excess over the mean of the other members is so much of a deviation from the mean of all.
  members.deviation_ns = members.all > 0 ? usual_excess * (1 - 1 / members.all) : 0;
  return members;
}

double ExcessBesides::Besides(const Members& members, size_t rank, double excess_ns) const {
  const bool is_late = IsLate(rank);
  const double others = members.usual - (is_late ? 0 : 1);
  if (std::isnan(excess_ns) || others < 1) return excess_ns;
  const double deviation_ns = excess_ns * (1 - 1 / members.all);
  return deviation_ns - (members.deviation_ns - (is_late ? 0 : deviation_ns)) / others;
}

double ExcessBesides::Of(size_t rank, size_t unit) const {
  const double excess_ns = own_[rank].excess_ns[unit];
  const Communicator* communicator = CommunicatorOf(rank);
  return communicator == nullptr ? excess_ns : Besides(communicator->units[unit], rank, excess_ns);
}

OwnParts ExcessBesides::PartsOf(size_t rank) const {
  OwnParts parts = own_[rank].excess_parts;
  const Communicator* communicator = CommunicatorOf(rank);
  for (size_t p = 0; p < kLatenessParts && communicator != nullptr; ++p) {
    parts[p] = Besides(communicator->parts[p], rank, parts[p]);
  }
  return parts;
}

}  // namespace lockstep
