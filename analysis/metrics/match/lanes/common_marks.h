// A first look at all lanes at once: which clock domains may share collectives at all, and at which offset.
//
// A mark is a row that ends after a longer pause than any row near it, together with the distances to the marks that
// follow. Lanes of one communicator have the same marks but for lost rows and the scatter of ends, and all at one
// offset. Lanes that have nothing to do with each other agree on a mark by chance, each time at another offset, however
// alike their programs are. Marks are looked up by their distances, so that the cost grows with the rows, and not with
// the pairs of domains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/match/lanes/coarse_clocks.h"

namespace lockstep {

struct CommonMarks {
  size_t a = 0;  // domains, a < b
  size_t b = 0;
  int64_t offset_ns = 0;  // a - b, of most of them, to about a quarter of a millisecond
  size_t count = 0;       // that agree on it
  size_t second = 0;      // that agree on any other one
};

// Those of every two domains that have one at all, in order of (a, b). `domain_of`: per lane.
[[nodiscard]] std::vector<CommonMarks> FindCommonMarks(const std::vector<RankLane>& lanes,
                                                       const std::vector<size_t>& domain_of, Executor& executor);

// The pairs of domains that are worth a search: for each domain those with which it has the most common marks, and all
// with which it has clearly more than chance gives.
class Prospects {
 public:
  explicit Prospects(const std::vector<CommonMarks>& found);
  // The offset a - b that the marks mean; null: not worth a search.
  [[nodiscard]] std::optional<int64_t> OffsetOf(size_t a, size_t b) const;

 private:
  std::map<std::pair<size_t, size_t>, int64_t> offset_ns_;  // a < b
};

}  // namespace lockstep
