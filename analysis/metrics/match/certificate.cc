#include "analysis/metrics/match/certificate.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "analysis/metrics/match/order_score.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr int64_t kMinEvidence = 3;
constexpr int64_t kMinRefutingMeetings = 8;

// A rank that occurs among the members, against the lowest one of its domain that does.
struct Place {
  int32_t rank_index = -1;
  size_t domain = 0;     // place among the domains that occur
  size_t reference = 0;  // place of the reference; its own: it is the reference
  int64_t tick_ns = 0;
  std::vector<int64_t> end_differences;  // in no order; of instances whose members end together
  int64_t met = 0;                       // instances that have its reference too
  int64_t centre_ns = 0;
  int64_t common = 0;
};

struct Meeting {
  int64_t last_start = INT64_MIN;
  int64_t first_end = INT64_MAX;
  int64_t tick_ns = 0;
  int members = 0;
  [[nodiscard]] bool common(int64_t slack_ns = 0) const { return last_start <= first_end + 2 * tick_ns + slack_ns; }

  void Include(const MatchedMember& m, const Place& place) {
    last_start = std::max(last_start, m.start_ns - place.centre_ns);
    first_end = std::min(first_end, m.end_ns - place.centre_ns);
    tick_ns = std::max(tick_ns, place.tick_ns);
    ++members;
  }
};

// Whether the upper median of the distances is at most kMaxEndResidualNs.
bool MostAreNear(const std::vector<int64_t>& differences) {
  const auto near =
      std::count_if(differences.begin(), differences.end(), [](int64_t d) { return std::abs(d) <= kMaxEndResidualNs; });
  return differences.empty() || static_cast<size_t>(near) > differences.size() / 2;
}

class Certifier {
 public:
  Certifier(const std::vector<const MatchedInstance*>& instances, const std::vector<int32_t>& domain,
            const std::vector<RankRows>& rows)
      : instances_(instances) {
    SetPlaces(domain, rows);
  }

  Certificate Run() {
    ForEachMet([&](const MatchedInstance& instance) { CollectEnds(instance); });
    for (Place& place : places_) {
      place.centre_ns = std::clamp(TakeUpperMedian(place.end_differences), -kMaxClockBiasNs, kMaxClockBiasNs);
    }
    Certificate out;
    ForEachMet([&](const MatchedInstance& instance) { Check(instance, out); });
    AddEvidence(out);
    return out;
  }

 private:
  void SetPlaces(const std::vector<int32_t>& domain, const std::vector<RankRows>& rows) {
    std::vector<bool> occurs(domain.size());
    for (const MatchedInstance* instance : instances_) {
      if (instance->members.size() < 2) continue;
      for (const MatchedMember& m : instance->members) occurs[static_cast<size_t>(m.rank_index)] = true;
    }
    std::map<int32_t, size_t> first;  // place of each domain's lowest rank
    for (size_t r = 0; r < occurs.size(); ++r) {
      if (!occurs[r]) continue;
      const size_t reference = first.emplace(domain[r], places_.size()).first->second;
      const size_t own_domain = reference == places_.size() ? first.size() - 1 : places_[reference].domain;
      places_.push_back({static_cast<int32_t>(r), own_domain, reference, rows[r].tick_ns, {}, 0, 0, 0});
    }
    references_.resize(first.size());
    meetings_.resize(first.size());
  }

  // Members come by rank, mostly the same in one instance after the other.
  [[nodiscard]] size_t PlaceOf(const MatchedMember& m, size_t expected) const {
    if (expected < places_.size() && places_[expected].rank_index == m.rank_index) return expected;
    const auto at = std::lower_bound(places_.begin(), places_.end(), m.rank_index,
                                     [](const Place& place, int32_t rank) { return place.rank_index < rank; });
    return static_cast<size_t>(at - places_.begin());
  }

  // use(instance) of each that joins two, with where its members and the references among them are at hand.
  template <typename Use>
  void ForEachMet(const Use& use) {
    for (const MatchedInstance* instance : instances_) {
      if (instance->members.size() < 2) continue;
      at_.clear();
      for (const MatchedMember& m : instance->members) {
        at_.push_back(PlaceOf(m, at_.empty() ? 0 : at_.back() + 1));
        references_[places_[at_.back()].domain] = nullptr;
      }
      for (size_t i = 0; i < at_.size(); ++i) {
        const Place& place = places_[at_[i]];
        if (place.reference == at_[i]) references_[place.domain] = &instance->members[i];
      }
      use(*instance);
    }
  }

  // The reference of the member's domain among the members; null: it is not there, or is the member itself.
  [[nodiscard]] const MatchedMember* ReferenceOf(size_t member) const {
    const Place& place = places_[at_[member]];
    return place.reference == at_[member] ? nullptr : references_[place.domain];
  }

  void CollectEnds(const MatchedInstance& instance) {
    const bool together = EndsTogether(instance.op, instance.members.size());
    for (size_t i = 0; i < at_.size(); ++i) {
      const MatchedMember* reference = ReferenceOf(i);
      if (reference == nullptr) continue;
      Place& place = places_[at_[i]];
      ++place.met;
      if (together) place.end_differences.push_back(instance.members[i].end_ns - reference->end_ns);
    }
  }

  void Check(const MatchedInstance& instance, Certificate& out) {
    for (const size_t at : at_) meetings_[places_[at].domain] = {};
    for (size_t i = 0; i < at_.size(); ++i) {
      const Place& place = places_[at_[i]];
      meetings_[place.domain].Include(instance.members[i], place);
    }
    for (size_t i = 0; i < at_.size(); ++i) {
      const MatchedMember* reference = ReferenceOf(i);
      if (reference != nullptr) places_[at_[i]].common += IsCommon(instance.members[i], *reference, at_[i]) ? 1 : 0;
    }
    bool together = false;
    bool common = true;
    for (const size_t at : at_) {
      const Meeting& meeting = meetings_[places_[at].domain];
      together = together || meeting.members > 1;
      common = common && meeting.common();
    }
    if (!together) return;
    ++out.checked;
    out.common += common ? 1 : 0;
  }

  // Of a member and the reference of its domain. They share what all of the domain share, unless a coarser clock among
  // the others widened that.
  [[nodiscard]] bool IsCommon(const MatchedMember& member, const MatchedMember& reference, size_t at) const {
    const Place& place = places_[at];
    const Meeting& all = meetings_[place.domain];
    if (place.tick_ns == all.tick_ns && all.common()) return true;
    Meeting pair;
    pair.Include(member, place);
    pair.Include(reference, places_[place.reference]);
    // Without ends that coincide the bias of the device is not known.
    return pair.common(place.end_differences.empty() ? kMaxClockBiasNs : 0);
  }

  void AddEvidence(Certificate& out) const {
    for (const Place& place : places_) {
      const int64_t n = place.met;
      const bool one_clock = static_cast<double>(place.common) >= kMinCommonRate * static_cast<double>(n) &&
                             MostAreNear(place.end_differences);
      if (n < (one_clock ? kMinEvidence : kMinRefutingMeetings)) continue;
      out.evidence.push_back({places_[place.reference].rank_index, place.rank_index, one_clock});
    }
  }

  const std::vector<const MatchedInstance*>& instances_;
  std::vector<Place> places_;                     // by rank
  std::vector<const MatchedMember*> references_;  // of the current instance, by place of the domain
  std::vector<Meeting> meetings_;
  std::vector<size_t> at_;  // places of the current instance's members
};

}  // namespace

Certificate Certify(const std::vector<const MatchedInstance*>& instances, const std::vector<int32_t>& domain,
                    const std::vector<RankRows>& rows) {
  return Certifier(instances, domain, rows).Run();
}

bool MayBeAllPairs(CollectiveOp op) {
  return IsAllPairs(op) || op == CollectiveOp::kUnknown || op == CollectiveOp::kSendRecv ||
         op == CollectiveOp::kAllToAllV || op == CollectiveOp::kAllGatherV;
}

}  // namespace lockstep
