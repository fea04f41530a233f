#include "analysis/metrics/match/stretch_rows.h"

#include <algorithm>
#include <span>
#include <utility>

#include "analysis/base/status_macros.h"
#include "analysis/base/time.h"
#include "analysis/metrics/match/chapter_cursor.h"
#include "analysis/metrics/match/chapter_reader.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"

namespace lockstep {

StretchRows::StretchRows(const RunData& run, const RankResolution& ranks, AlignedTime from, int64_t rows)
    : ranks_(ranks), from_(from), of_rank_(ranks.ranks.size()) {
  constexpr double kFewRows = 64;
  const auto all = static_cast<double>(std::max<int64_t>(1, CountInstances(run, ranks)));
  for (size_t r = 0; r < of_rank_.size(); ++r) {
    const auto count = static_cast<double>(BelievedCount(run.sources[ranks.ranks[r].source]));
    of_rank_[r].most = static_cast<size_t>(kFewRows + count / all * static_cast<double>(rows));
  }
}

absl::Status StretchRows::Add(InstanceSource& rows, const std::vector<RowRange>& own,
                              const std::vector<size_t>& members, const ClockModel& clock, AlignedTime to) {
  if (to <= from_) return absl::OkStatus();
  for (const size_t rank : members) {
    OfRank& of = of_rank_[rank];
    if (of.rows.size() == of.most) continue;
    const size_t source = ranks_.ranks[rank].source;
    LOCKSTEP_ASSIGN_OR_RETURN(auto stream, rows.Open(source));
    int64_t row = 0;
    while (of.rows.size() < of.most) {
      LOCKSTEP_ASSIGN_OR_RETURN(const std::span<const InstanceRow> block, stream->Next());
      if (block.empty()) break;
      for (const InstanceRow& it : block) {
        const int64_t at = row++;
        if (!own[rank].Has(at) || of.rows.size() == of.most) continue;
        if (of.rows.empty()) {
          if (clock.Align(static_cast<int32_t>(rank), LocalTime{it.start_ns}) < from_) continue;
          of.first_row = rows.FirstRow(source) + at;
          of.rows.reserve(of.most);
        }
        of.rows.push_back(it);
      }
    }
  }
  return absl::OkStatus();
}

StretchRows::Result StretchRows::Finish(const ClockModel& clock) {
  Result out;
  AlignedTime to{INT64_MAX};
  for (size_t r = 0; r < of_rank_.size(); ++r) {
    const OfRank& of = of_rank_[r];
    if (of.rows.size() < of.most) continue;  // it has no more
    to = std::min(to, clock.Align(static_cast<int32_t>(r), LocalTime{of.rows.back().start_ns}));
  }
  auto rows = std::make_shared<ChapterRows>();
  for (size_t r = 0; r < of_rank_.size(); ++r) {
    OfRank& of = of_rank_[r];
    const auto beyond = std::find_if(of.rows.begin(), of.rows.end(), [&](const InstanceRow& row) {
      return clock.Align(static_cast<int32_t>(r), LocalTime{row.start_ns}) > to;
    });
    of.rows.erase(beyond, of.rows.end());
    if (of.rows.empty()) continue;
    ChapterWindow window;
    window.first_row = of.first_row;
    window.rows = static_cast<int64_t>(of.rows.size());
    out.count += window.rows;
    window.parts.push_back(
        {std::make_shared<const std::vector<InstanceRow>>(std::move(of.rows)), 0, static_cast<size_t>(window.rows)});
    rows->Add(ranks_.ranks[r].source, std::move(window));
  }
  out.rows = std::move(rows);
  return out;
}

}  // namespace lockstep
