// Rows of all ranks of one stretch of a run, kept while its ranks pass by set after set. Pure. Not thread safe.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/metrics/clock_align/clock_model.h"
#include "analysis/metrics/match/chapter.h"
#include "analysis/metrics/run/ranks.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/instance_source.h"
#include "analysis/model/run_data.h"

namespace lockstep {

class StretchRows {
 public:
  // From this moment on about `rows`, of each rank its part. Borrows the ranks.
  StretchRows(const RunData& run, const RankResolution& ranks, AlignedTime from, int64_t rows);

  // Own rows of a chapter of these ranks, which follow what was given of them before; `to`: where it ends. Errors:
  // those of the instances.
  [[nodiscard]] absl::Status Add(InstanceSource& rows, const std::vector<RowRange>& own,
                                 const std::vector<size_t>& members, const ClockModel& clock, AlignedTime to);

  struct Result {
    std::shared_ptr<InstanceSource> rows;
    int64_t count = 0;
  };
  // As far as all ranks were kept. Used up.
  [[nodiscard]] Result Finish(const ClockModel& clock);
  [[nodiscard]] AlignedTime from() const { return from_; }

 private:
  struct OfRank {
    int64_t first_row = 0;
    size_t most = 0;
    std::vector<InstanceRow> rows;
  };

  const RankResolution& ranks_;
  const AlignedTime from_;
  std::vector<OfRank> of_rank_;
};

}  // namespace lockstep
