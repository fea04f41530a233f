// What a person asked to restrict or group. Shared by every metric; parsed from flags or from a ViewRequest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/metrics/run/parallel_layout.h"

namespace lockstep {

enum class GroupBy : uint8_t { kFull = 0, kBase = 1, kMangled = 2, kShape = 3, kFamily = 4, kCategory = 5 };

// A kernel is of that family where the text occurs in its name, whatever the case.
struct FamilyWord {
  std::string family;
  std::string text;
  friend bool operator==(const FamilyWord&, const FamilyWord&) = default;
};

inline constexpr int kMaxFamilyWords = 10'000;

struct AnalysisOptions {
  std::vector<std::string> views;                      // names of interface.md, "all" expanded
  std::optional<std::pair<int64_t, int64_t>> steps;    // inclusive
  std::optional<std::pair<int64_t, int64_t>> time_ns;  // from the run's start, half open
  std::vector<int32_t> ranks;                          // empty = all
  std::string kernels;                                 // regular expression (RE2 syntax or ECMAScript); "" = all
  std::string nvtx;                                    // range name; "" = none
  std::optional<int32_t> capture;                      // --capture K
  bool capture_last = false;                           // --capture last
  bool one_run = false;  // --one-run: files without a common time are one run all the same
  GroupBy group_by = GroupBy::kFull;
  std::optional<ParallelLayout> layout;  // --layout
  std::optional<int64_t> instances;      // --instances: nullopt = not asked, -1 = all
  std::string sort;
  std::optional<int64_t> limit;
  int32_t expected_ranks = -1;
  std::vector<FamilyWord> families;  // --families, before the built-in table; first match counts
  friend bool operator==(const AnalysisOptions&, const AnalysisOptions&) = default;
};

}  // namespace lockstep
