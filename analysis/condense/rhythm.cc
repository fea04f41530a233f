#include "analysis/condense/rhythm.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr double kPresent = 0.9;    // of the stretches hold a token that belongs to the step
constexpr double kMinShare = 0.75;  // of all tokens belong to it
constexpr double kRegular = 0.8;    // of the stretches are as long as the median
constexpr double kLengthSlack = 0.05;
constexpr double kMissing = 0.02;   // of the tokens may be missing against the fullest stretches
constexpr double kOutside = 0.05;   // of the tokens may occur before and after the steps only
constexpr size_t kMaxRhythms = 64;  // different frequencies looked at

struct Stretches {
  size_t present = 0;  // tokens in nearly every stretch
  size_t outside = 0;  // tokens in none
  size_t median = 0;   // units
  bool regular = false;
};

class RhythmFinder {
 public:
  explicit RhythmFinder(std::span<const LaunchUnit> units) : units_(units) {
    std::unordered_map<uint32_t, uint32_t> ids;
    for (const LaunchUnit& unit : units) {
      const auto [found, is_new] = ids.emplace(unit.token, static_cast<uint32_t>(places_.size()));
      if (is_new) places_.emplace_back();
      places_[found->second].push_back(sequence_.size());
      sequence_.push_back(found->second);
    }
  }

  std::optional<Rhythm> Find() {
    std::map<size_t, std::vector<uint32_t>, std::greater<>> by_count;  // the finest first
    for (uint32_t id = 0; id < places_.size(); ++id) {
      if (places_[id].size() >= kMinAnchors) by_count[places_[id].size()].push_back(id);
    }
    // The coarsest are kept: what occurs most often lies inside a step.
    while (by_count.size() > kMaxRhythms) by_count.erase(by_count.begin());
    std::vector<std::pair<const std::vector<uint32_t>*, Stretches>> rhythms;
    size_t fullest = 0;
    for (const auto& [count, ids] : by_count) {
      const Stretches found = Measure(ids.front());
      if (!found.regular || !IsWhole(found)) continue;
      fullest = std::max(fullest, found.present);
      rhythms.emplace_back(&ids, found);
    }
    const size_t slack = std::max<size_t>(1, static_cast<size_t>(kMissing * static_cast<double>(places_.size())));
    for (const auto& [ids, found] : rhythms) {
      if (found.present + slack >= fullest) return Rhythm{units_[places_[Anchor(*ids)].front()].token, found.median};
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] bool IsWhole(const Stretches& found) const {
    const auto all = static_cast<double>(places_.size());
    return static_cast<double>(found.present) >= kMinShare * all &&
           static_cast<double>(found.outside) <= std::max(kOutside * all, 0.5);
  }

  [[nodiscard]] Stretches Measure(uint32_t anchor) const {
    const std::vector<size_t>& places = places_[anchor];
    const size_t stretches = places.size() - 1;
    std::vector<size_t> lengths;
    std::vector<size_t> in(places_.size(), 0);
    std::vector<size_t> last(places_.size(), SIZE_MAX);
    for (size_t k = 0; k < stretches; ++k) {
      lengths.push_back(places[k + 1] - places[k]);
      for (size_t i = places[k]; i < places[k + 1]; ++i) {
        if (last[sequence_[i]] == k) continue;
        last[sequence_[i]] = k;
        ++in[sequence_[i]];
      }
    }
    Stretches found;
    for (const size_t count : in) {
      if (static_cast<double>(count) >= kPresent * static_cast<double>(stretches)) ++found.present;
      if (count == 0) ++found.outside;
    }
    std::sort(lengths.begin(), lengths.end());
    found.median = lengths[lengths.size() / 2];
    const double slack = std::max(1.0, kLengthSlack * static_cast<double>(found.median));
    const auto as_long = std::count_if(lengths.begin(), lengths.end(), [&](size_t length) {
      const auto difference = static_cast<double>(length) - static_cast<double>(found.median);
      return difference <= slack && -difference <= slack;
    });
    found.regular = static_cast<double>(as_long) >= kRegular * static_cast<double>(stretches);
    return found;
  }

  // Of the tokens of one frequency: before which the device pauses longest.
  [[nodiscard]] uint32_t Anchor(const std::vector<uint32_t>& ids) const {
    uint32_t best = ids.front();
    int64_t longest = -1;
    for (const uint32_t id : ids) {
      std::vector<int64_t> pauses;
      for (const size_t place : places_[id]) pauses.push_back(units_[place].pause_before_ns);
      const int64_t usual = UpperMedian(std::move(pauses));
      if (usual <= longest) continue;
      longest = usual;
      best = id;
    }
    return best;
  }

  std::span<const LaunchUnit> units_;
  std::vector<uint32_t> sequence_;           // dense token ids
  std::vector<std::vector<size_t>> places_;  // by id
};

}  // namespace

std::optional<Rhythm> FindRhythm(std::span<const LaunchUnit> units) {
  if (units.size() < kMinAnchors) return std::nullopt;
  return RhythmFinder(units).Find();
}

}  // namespace lockstep
