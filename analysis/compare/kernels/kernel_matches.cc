#include "analysis/compare/kernels/kernel_matches.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "analysis/base/status_macros.h"
#include "analysis/compare/kernels/match_state.h"
#include "analysis/compare/kernels/pair_choice.h"
#include "analysis/compare/kernels/rungs.h"

namespace lockstep::compare {
namespace {

template <size_t N, typename Value>
std::string_view NameIn(const std::array<std::string_view, N>& names, Value value) {
  const auto index = static_cast<size_t>(value);
  return index < N ? names[index] : std::string_view();
}

void AddUnmatched(MatchState& state) {
  for (size_t b = 0; b < state.before.size(); ++b) {
    if (state.before.matched[b]) continue;
    const UnmatchedNote note = state.before_notes[b];
    state.matches.push_back({.before = {b},
                             .after = {},
                             .kind = MatchKind::kRemoved,
                             .reason = note.reason,
                             .candidates = note.candidates});
  }
  for (size_t a = 0; a < state.after.size(); ++a) {
    if (state.after.matched[a]) continue;
    const UnmatchedNote note = state.after_notes[a];
    state.matches.push_back(
        {.before = {}, .after = {a}, .kind = MatchKind::kAdded, .reason = note.reason, .candidates = note.candidates});
  }
}

double MatchedShare(const MatchSide& side) {
  double all = 0;
  double matched = 0;
  for (size_t i = 0; i < side.size(); ++i) {
    all += side.time_ns[i];
    if (side.matched[i]) matched += side.time_ns[i];
  }
  if (!(all > 0)) return 1;
  return std::isfinite(all) ? matched / all : 0;
}

// Longest first; the sides are in a fixed order, so that their indices decide between equal times.
void SortByTime(MatchState& state) {
  const auto key = [&state](const KernelMatch& match) {
    const double time = std::max(SumOf(state.before.time_ns, match.before), SumOf(state.after.time_ns, match.after));
    return std::tuple<double, const std::vector<size_t>&, const std::vector<size_t>&>(-time, match.before, match.after);
  };
  std::sort(state.matches.begin(), state.matches.end(),
            [&key](const KernelMatch& x, const KernelMatch& y) { return key(x) < key(y); });
}

void ToInputIndices(const MatchSide& side, std::vector<size_t>& indices) {
  for (size_t& index : indices) index = side.input_index[index];
}

std::string NamesOf(const std::vector<KernelOfRun>& kernels, const std::vector<size_t>& indices) {
  std::string out;
  for (const size_t index : indices) {
    if (!out.empty()) out += ", ";
    out += index < kernels.size() ? fmt::format("{:.120}", kernels[index].name) : std::string("?");
  }
  return out;
}

std::string ExplanationOfUnmatched(const KernelMatch& match, const std::vector<KernelOfRun>& others) {
  const std::string names = NamesOf(others, match.candidates);
  switch (match.reason) {
    case UnmatchedReason::kSeveralAlike:
      return "Several kernels of the other run are about equally like it: " + names + ".";
    case UnmatchedReason::kLaunchesDiffer:
      return "Variants of the same family are unmatched, but their launches, times or places do not agree: " + names +
             ".";
    case UnmatchedReason::kTooManyCandidates:
      return "More kernels of the other run are like it than are compared.";
    case UnmatchedReason::kPlaceOfSeveral:
      return "At its place in the step the other run has " + names + "; the kernels may be fused, split or exchanged.";
    default:
      return "The other run has no kernel with its name, base name, range, family or place.";
  }
}

}  // namespace

std::string_view Name(MatchedBy by) {
  static constexpr std::array kNames = std::to_array<std::string_view>(
      {"nothing", "map", "exact", "demangled", "base", "words", "range", "family", "position"});
  return NameIn(kNames, by);
}

std::string_view Name(MatchKind kind) {
  static constexpr std::array kNames =
      std::to_array<std::string_view>({"same", "variant_changed", "group", "fused", "split", "added", "removed"});
  return NameIn(kNames, kind);
}

std::string_view Name(Certainty certainty) {
  static constexpr std::array kNames = std::to_array<std::string_view>({"certain", "likely", "guess"});
  return NameIn(kNames, certainty);
}

std::string_view Name(UnmatchedReason reason) {
  static constexpr std::array kNames = std::to_array<std::string_view>(
      {"none", "nothing_alike", "several_alike", "launches_differ", "too_many_candidates", "place_of_several"});
  return NameIn(kNames, reason);
}

absl::StatusOr<KernelMatches> MatchKernels(const std::vector<KernelOfRun>& before,
                                           const std::vector<KernelOfRun>& after, const KernelMap& map) {
  MatchState state = StateOf(before, after);
  LOCKSTEP_ASSIGN_OR_RETURN(std::vector<size_t> unused, MatchByMap(map, state));
  MatchByExactName(state);
  MatchByDemangledName(state);
  MatchByBaseName(state, true);
  MatchFusedAndSplit(state);
  MatchByBaseName(state, false);
  MatchByRange(state);
  MatchTunerVariants(state);
  MatchByPosition(state);
  KernelMatches out{.matches = {},
                    .before_matched_share = MatchedShare(state.before),
                    .after_matched_share = MatchedShare(state.after),
                    .unused_map_lines = std::move(unused)};
  AddUnmatched(state);
  SortByTime(state);
  out.matches = std::move(state.matches);
  for (KernelMatch& match : out.matches) {
    ToInputIndices(match.before.empty() ? state.before : state.after, match.candidates);
    ToInputIndices(state.before, match.before);
    ToInputIndices(state.after, match.after);
  }
  return out;
}

std::string Explanation(const KernelMatch& match, const std::vector<KernelOfRun>& before,
                        const std::vector<KernelOfRun>& after) {
  if (match.kind == MatchKind::kRemoved) return ExplanationOfUnmatched(match, after);
  if (match.kind == MatchKind::kAdded) return ExplanationOfUnmatched(match, before);
  static constexpr std::array kHow = std::to_array<std::string_view>(
      {"", "The map of the user says so.", "The names are equal.", "The names differ only in how they are demangled.",
       "The base names are equal.", "The name of one kernel has the operations of the others, at the same place.",
       "They have the same range around them and the same role.",
       "They are variants among which an auto-tuner chooses; launches agree.",
       "They are at the same place in the step, between the same neighbours."});
  const std::string_view sure = match.certainty == Certainty::kGuess ? " This is a guess." : "";
  return fmt::format("{}{}", NameIn(kHow, match.by), sure);
}

}  // namespace lockstep::compare
