// Where in the step kernels are, measured by the neighbours that are matched already.
//
// A fraction of the step says little across two runs: one slow kernel shifts all that follow. So the launches of pairs
// that are matched one to one, with as many places on both sides, serve as marks; marks that changed their order are
// left out (longest rising subsequence). The position of a launch is the number of marks before it plus the fraction of
// the way to the next one. O(n log n) in the number of places. Inside of this room; borrows the state. Not thread safe.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/compare/kernels/match_state.h"

namespace lockstep::compare {

class StepOrder {
 public:
  explicit StepOrder(const MatchState& state);

  // The largest difference of the positions of their launches, one by one where they have as many places, else of the
  // first and of the last one; NaN = not known.
  [[nodiscard]] double Distance(size_t b, size_t a) const;
  // The same of the launches of several kernels.
  [[nodiscard]] double Distance(const Bucket& bucket) const;
  // Of the launches of several kernels, how many are between the same marks on both sides, by the number of the side
  // that has fewer; NaN = the places of some launch are not known.
  [[nodiscard]] double ShareAtSamePlaces(const Bucket& bucket) const;
  // Whether each of these launches, on the side that has fewer, is at the same place or at the next one: it may have
  // overtaken a mark. True where places are not known.
  [[nodiscard]] bool AllNearSamePlaces(const Bucket& bucket) const;
  // Whether some of their launches are between the same two marks.
  [[nodiscard]] bool Meet(size_t b, size_t a) const;
  // Number of marks before the first launch.
  [[nodiscard]] std::optional<size_t> GapOfBefore(size_t b) const { return before_.Gap(b); }
  [[nodiscard]] std::optional<size_t> GapOfAfter(size_t a) const { return after_.Gap(a); }
  [[nodiscard]] size_t marks() const { return before_.marks.size(); }

 private:
  // Marks of one side, rising, and the positions of the launches of each kernel, rising, found when first asked for.
  struct Positions {
    const MatchSide* side = nullptr;
    std::vector<double> marks;
    mutable std::vector<std::vector<double>> known;

    [[nodiscard]] const std::vector<double>& Of(size_t i) const;
    [[nodiscard]] std::vector<double> Merged(const std::vector<size_t>& members) const;
    [[nodiscard]] double Horizon(const std::vector<size_t>& members) const;
    [[nodiscard]] std::optional<size_t> Gap(size_t i) const;
  };

  // The share of launches that `meet` says to be at the same place.
  [[nodiscard]] double ShareThatMeets(const Bucket& bucket, bool (*meet)(double, double)) const;
  // Sets the positions by marks, each a place before and a place after.
  void Place(const std::vector<std::pair<double, double>>& marks);

  Positions before_;
  Positions after_;
};

}  // namespace lockstep::compare
