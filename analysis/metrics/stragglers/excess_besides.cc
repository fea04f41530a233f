#include "analysis/metrics/stragglers/excess_besides.h"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

constexpr double kStandardErrors = 4;
constexpr double kLeastUnits = 8;  // for an error to be known by

// NaN where the unit is not measured.
double ExcessAt(const RankOwnTime& own, size_t place, size_t unit) {
  const double in_unit = own.excess_ns[unit];
  return std::isnan(in_unit) ? in_unit : static_cast<double>(own.excess_at_ns[place][unit]);
}

// Of what is measured: mean below 0 by more than its error explains.
class EarlyTest {
 public:
  void Add(double excess_ns) {
    if (std::isnan(excess_ns)) return;
    ++count_;
    sum_ += excess_ns;
    squares_ += excess_ns * excess_ns;
  }
  [[nodiscard]] bool IsEarly() const {
    if (count_ < kLeastUnits) return false;
    const double mean = sum_ / count_;
    const double variance = std::max(0.0, squares_ / count_ - mean * mean) * count_ / (count_ - 1);
    return mean < -kStandardErrors * std::sqrt(variance / count_);
  }

 private:
  double count_ = 0;
  double sum_ = 0;
  double squares_ = 0;
};

}  // namespace

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
    AddPlaces(communicator);
  }
}

void ExcessBesides::AddPlaces(Communicator& communicator) const {
  const RankOwnTime& first = own_[communicator.ranks.front()];
  communicator.units_at.resize(first.excess_at_ns.size());
  communicator.parts_at.resize(first.excess_at_ns.size());
  for (size_t place = 0; place < first.excess_at_ns.size(); ++place) {
    for (size_t unit = 0; unit < first.excess_ns.size(); ++unit) {
      const auto excess = [&](size_t rank) { return ExcessAt(own_[rank], place, unit); };
      communicator.units_at[place].push_back(MembersOf(communicator, excess));
    }
    for (size_t part = 0; part < kLatenessParts; ++part) {
      const auto excess = [&](size_t rank) { return own_[rank].excess_parts_at[place][part]; };
      communicator.parts_at[place].push_back(MembersOf(communicator, excess));
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

double ExcessBesides::At(size_t rank, size_t place, size_t unit) const {
  const double excess_ns = ExcessAt(own_[rank], place, unit);
  const Communicator* communicator = CommunicatorOf(rank);
  return communicator == nullptr ? excess_ns : Besides(communicator->units_at[place][unit], rank, excess_ns);
}

OwnParts ExcessBesides::PartsAt(size_t rank, size_t place) const {
  OwnParts parts = own_[rank].excess_parts_at[place];
  const Communicator* communicator = CommunicatorOf(rank);
  for (size_t p = 0; p < kLatenessParts && communicator != nullptr; ++p) {
    parts[p] = Besides(communicator->parts_at[place][p], rank, parts[p]);
  }
  return parts;
}

std::vector<size_t> ExcessBesides::EarlyPlaces(size_t rank) const {
  std::vector<size_t> early;
  for (size_t place = 0; place < own_[rank].excess_at_ns.size(); ++place) {
    EarlyTest test;
    for (size_t unit = 0; unit < own_[rank].excess_ns.size(); ++unit) test.Add(At(rank, place, unit));
    if (test.IsEarly()) early.push_back(place);
  }
  return early;
}

}  // namespace lockstep
