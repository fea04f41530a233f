#include "analysis/metrics/fleet/slow_rows.h"

#include <algorithm>
#include <cstdlib>

#include "analysis/model/row_values.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr double kDeviations = 3;
constexpr double kMinExcess = 0.02;

}  // namespace

ComparedSteps FindComparedSteps(const SourceData& source) {
  ComparedSteps out;
  for (size_t row = 0; row < source.steps.size(); ++row) {
    if (source.steps[row].step == kNoStep || source.steps[row].tile.span_ns <= 0) continue;
    out.by_phase[source.steps[row].phase].push_back(row);
    out.all.push_back(row);
  }
  return out.all.size() < kMinComparedSteps ? ComparedSteps{} : out;
}

UsualSpan UsualSpanOf(const std::vector<StepRow>& steps, const std::vector<size_t>& rows) {
  std::vector<int64_t> spans;
  for (const size_t row : rows) spans.push_back(steps[row].tile.span_ns);
  UsualSpan usual;
  usual.span_ns = LowerMedian(spans);
  for (int64_t& span : spans) span = std::abs(span - usual.span_ns);
  usual.noise_ns = LowerMedian(std::move(spans));
  return usual;
}

bool UsualSpan::IsExceededBy(const StepRow& row) const {
  const auto excess = static_cast<double>(row.tile.span_ns - span_ns);
  const double noise = kDeviations * 1.4826 * static_cast<double>(noise_ns);
  return excess > std::max(noise, kMinExcess * static_cast<double>(span_ns));
}

std::vector<size_t> FindSlowRows(const SourceData& source) {
  const ComparedSteps compared = FindComparedSteps(source);
  std::vector<size_t> slow;
  for (const auto& [phase, rows] : compared.by_phase) {
    const UsualSpan usual = UsualSpanOf(source.steps, compared.Of(rows));
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(slow),
                 [&](size_t row) { return usual.IsExceededBy(source.steps[row]); });
  }
  std::sort(slow.begin(), slow.end());
  return slow;
}

}  // namespace lockstep
