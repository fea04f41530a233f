#include "analysis/metrics/skew/lateness_map.h"

#include <algorithm>
#include <cmath>

#include "analysis/metrics/skew/skew.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

constexpr double kCodesAnOctave = 8;
constexpr double kLeastNs = 1000;
// Both maps together take at most 168 MB; 16,384 ranks then have 2,048 columns, and 1,024 ranks all of 32,768 steps.
constexpr size_t kMostCells = size_t{1} << 25;
constexpr size_t kMostSteps = size_t{1} << 16;
constexpr size_t kMostStretches = size_t{1} << 10;  // of time: as many as a screen shows

uint8_t CodeOf(const MatchedInstance& instance, const MatchedMember& member) {
  if (!instance.comparable) return kUnresolvedCode;
  const int64_t late_ns = LatenessNs(instance, member);
  if (late_ns <= 0) return 0;
  return late_ns <= instance.uncertainty_ns ? kUnresolvedCode : DurationCode(static_cast<double>(late_ns));
}

}  // namespace

uint8_t DurationCode(double ns) {
  if (!(ns > 0)) return 0;
  const double code = std::round(kCodesAnOctave * std::log2(ns / kLeastNs)) + kLeastCode;
  return static_cast<uint8_t>(std::clamp<double>(code, kLeastCode, UINT8_MAX));
}

MapAxis::MapAxis(const RunData& run, size_t ranks) : ranks_(ranks) {
  steps_ = std::any_of(run.sources.begin(), run.sources.end(), [](const SourceData& source) {
    return std::any_of(source.steps.begin(), source.steps.end(),
                       [](const StepRow& row) { return row.step != kNoStep; });
  });
}

size_t MapAxis::MostColumns() const {
  return std::clamp<size_t>(kMostCells / std::max<size_t>(1, ranks_), 2, steps_ ? kMostSteps : kMostStretches);
}

std::optional<int64_t> MapAxis::KeyOf(const MatchedInstance& instance) const {
  if (!steps_) return instance.members.front().start_ns;
  if (instance.step == kNoStep) return std::nullopt;
  return instance.step;
}

void LatenessMap::Add(const MatchedInstance& instance) {
  if (!instance.matched() || instance.confidence < kCertainConfidence) return;
  const std::optional<int64_t> key = axis_.KeyOf(instance);
  if (!key) return;
  for (const MatchedMember& member : instance.members) {
    const LatenessCell cell{CodeOf(instance, member)};
    if (cell.code > 0) grid_.At(*key, static_cast<size_t>(member.rank_index)).Merge(cell);
  }
}

}  // namespace lockstep
