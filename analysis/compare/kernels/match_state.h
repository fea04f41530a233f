// What the rungs of the ladder work on: both sides in an order that does not depend on the input's, and the matches so
// far. Inside of this room. Not thread safe.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analysis/compare/kernels/kernel_identity.h"
#include "analysis/compare/kernels/kernel_matches.h"
#include "analysis/model/launch_places.h"

namespace lockstep::compare {

// The first launches show all calls of the first layers.
inline constexpr size_t kMostPlacesRead = kMaxPlaces;

struct MatchSide {
  std::vector<const KernelOfRun*> kernels;  // sorted by everything that they hold
  std::vector<size_t> input_index;
  std::vector<KernelIdentity> identities;
  std::vector<double> launches;  // finite, not negative
  std::vector<double> time_ns;
  std::vector<std::vector<double>> places;  // from 0 to 1, rising, at most kMostPlacesRead
  std::vector<char> matched;

  [[nodiscard]] size_t size() const { return kernels.size(); }
};

// Indices into the two sides.
struct Bucket {
  std::vector<size_t> before;
  std::vector<size_t> after;
};

struct UnmatchedNote {
  UnmatchedReason reason = UnmatchedReason::kNothingAlike;
  std::vector<size_t> candidates;
};

struct MatchState {
  MatchSide before;
  MatchSide after;
  std::vector<KernelMatch> matches;  // with indices into the sides
  std::map<size_t, UnmatchedNote> before_notes;
  std::map<size_t, UnmatchedNote> after_notes;

  void Add(const Bucket& members, MatchKind kind, MatchedBy by, Certainty certainty);
  void AddPair(size_t b, size_t a, MatchKind kind, MatchedBy by, Certainty certainty);
  // Says of the unmatched ones of the bucket why that is so. The last word counts.
  void Note(const Bucket& bucket, UnmatchedReason reason);
};

[[nodiscard]] MatchState StateOf(const std::vector<KernelOfRun>& before, const std::vector<KernelOfRun>& after);

// The unmatched kernels of a bucket.
[[nodiscard]] Bucket StillUnmatched(const MatchState& state, const Bucket& bucket);

// Buckets of unmatched kernels with equal keys that have kernels of both sides, in the order of the keys. An empty key
// is in no bucket. key(side, index) -> something that sorts and has empty().
template <typename KeyOf>
[[nodiscard]] auto BucketsBy(const MatchState& state, const KeyOf& key) {
  std::map<decltype(key(state.before, size_t{0})), Bucket> by_key;
  for (size_t b = 0; b < state.before.size(); ++b) {
    if (!state.before.matched[b]) by_key[key(state.before, b)].before.push_back(b);
  }
  for (size_t a = 0; a < state.after.size(); ++a) {
    if (!state.after.matched[a]) by_key[key(state.after, a)].after.push_back(a);
  }
  std::vector<Bucket> buckets;
  for (auto& entry : by_key) {
    const bool both = !entry.second.before.empty() && !entry.second.after.empty();
    if (both && !entry.first.empty()) buckets.push_back(std::move(entry.second));
  }
  return buckets;
}

// |log2(x / y)|; 0 where both are 0, a large finite number where one of them is.
[[nodiscard]] double Doublings(double x, double y);

}  // namespace lockstep::compare
