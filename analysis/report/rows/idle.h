// Rows of the view idle.
#pragma once

#include <optional>
#include <vector>

#include "analysis/report/fields/record.h"
#include "analysis/report/rows/percentiles.h"

namespace lockstep::report {

struct IdleOfStream {
  int32_t stream = 0;
  Count host_wait_ns;
  Count kernel_wait_ns;
  Count other_ns;

  static const Record& Fields();
};

struct IdleBursts {
  Count count;
  Count busy_ns;
  Count idle_after_ns;

  static const Record& Fields();
};

struct IdleRow {
  int32_t rank = 0;
  std::optional<int32_t> device;
  std::optional<Count> gaps;
  Count idle_ns;
  Count host_ns;
  Count launch_ns;
  Count dependency_ns;
  Count other_ns;
  std::optional<Percentiles> gap_ns;
  std::optional<Count> dominant_gap_ns;
  std::vector<IdleOfStream> streams;
  std::optional<IdleBursts> bursts;

  static const Record& Fields();
};

}  // namespace lockstep::report
