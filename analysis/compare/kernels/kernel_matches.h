// Which kernels of one run are which kernels of another one.
//
// The rungs of a ladder are tried one after the other, the strongest first; a kernel that a rung explains is out of
// reach of the next ones. A wrong match is worse than none: where candidates are about equally good, the kernel stays
// unmatched and the result says so. The exception are the variants of an auto-tuner, which are summed up as a group.
// The result depends on the two sets of kernels only, not on the order of the lists. Pure and thread safe.
// Units: times are ns a step, launches are per step.
#pragma once

#include <absl/status/statusor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/compare/kernels/kernel_map.h"
#include "analysis/compare/kernels/kernel_of_run.h"

namespace lockstep::compare {

// The rung that matched, strongest first.
enum class MatchedBy : uint8_t {
  kNothing,    // added or removed
  kMap,        // the user's map
  kExact,      // equal names, mangled or demangled
  kDemangled,  // equal names in the spelling of different demanglers
  kBase,       // equal base names without template list, arguments, return type, namespaces, version, hash
  kWords,      // a fused kernel whose name has the operations of the kernels in it
  kRange,      // the same range around them and the same role
  kFamily,     // variants of an auto-tuner
  kPosition,   // the same place in the step between the same neighbours
};
[[nodiscard]] std::string_view Name(MatchedBy by);

enum class MatchKind : uint8_t {
  kSame,            // one and one
  kVariantChanged,  // one and one, variants of an auto-tuner
  kGroup,           // several and several, to be compared as sums
  kFused,           // several became one
  kSplit,           // one became several
  kAdded,
  kRemoved,
};
[[nodiscard]] std::string_view Name(MatchKind kind);

enum class Certainty : uint8_t { kCertain, kLikely, kGuess };
[[nodiscard]] std::string_view Name(Certainty certainty);

enum class UnmatchedReason : uint8_t {
  kNone,
  kNothingAlike,       // the other run has nothing like it
  kSeveralAlike,       // candidates are about equally good
  kLaunchesDiffer,     // variants of the same tuner, but launches or times do not add up
  kTooManyCandidates,  // more pairs than are compared
  kPlaceOfSeveral,     // it is where several unmatched ones were: fused, split or exchanged
};
[[nodiscard]] std::string_view Name(UnmatchedReason reason);

struct KernelMatch {
  std::vector<size_t> before;  // indices into the lists that were given, in a fixed order of the names
  std::vector<size_t> after;
  MatchKind kind = MatchKind::kSame;
  MatchedBy by = MatchedBy::kNothing;
  Certainty certainty = Certainty::kCertain;
  UnmatchedReason reason = UnmatchedReason::kNone;  // of added and removed ones
  std::vector<size_t> candidates;  // of unmatched ones: some of those on the other side that the reason is about
  friend bool operator==(const KernelMatch&, const KernelMatch&) = default;
};

struct KernelMatches {
  std::vector<KernelMatch> matches;  // each kernel is in exactly one; longest time on either side first
  double before_matched_share = 0;   // of the kernel time of the side, 0 to 1; 1 when it has none
  double after_matched_share = 0;
  std::vector<size_t> unused_map_lines;  // numbers of lines of the map that matched no pair
};

// kInvalidArgument: a pattern of the map is too complex for a name.
[[nodiscard]] absl::StatusOr<KernelMatches> MatchKernels(const std::vector<KernelOfRun>& before,
                                                         const std::vector<KernelOfRun>& after,
                                                         const KernelMap& map = {});

// One sentence for people: by what it was matched and how sure that is, or why it was not matched.
[[nodiscard]] std::string Explanation(const KernelMatch& match, const std::vector<KernelOfRun>& before,
                                      const std::vector<KernelOfRun>& after);

}  // namespace lockstep::compare
