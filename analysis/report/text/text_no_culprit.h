// The first sentence of the summary where nobody is named: that nobody is to blame is one thing, that it is not
// known is another one. Pure and thread safe.
#pragma once

#include <string>

#include "analysis/report/rows/run.h"
#include "analysis/report/rows/summary.h"

namespace lockstep {

inline constexpr double kMostOfWaiting = 0.5;   // who caused as much is in the headline, also behind another one
inline constexpr double kMaterialWait = 0.005;  // of the time: as much as a rank must cause to be named

// What the sentences are made from.
struct HeadlineInput {
  const report::Summary& summary;
  const report::Run& run;
};

// The communication of time_share; what is not known counts as none.
struct ExposedShares {
  explicit ExposedShares(const report::TimeShares& share)
      : wait(share.exposed_wait_ratio.value_or(0)),
        transfer(share.exposed_transfer_ratio.value_or(0)),
        unresolved(share.exposed_unresolved_ratio.value_or(0)) {}

  double wait;
  double transfer;
  double unresolved;
};

// Nobody is named, the traces do not say how many ranks there are, and communication takes some of the time: a rank
// whose trace is not here could be who all wait for.
[[nodiscard]] bool RestsOnAllRanks(const report::Summary& summary);

// Why arrivals cannot be compared, in the words of the gate that says so.
[[nodiscard]] std::string WhyNotTold(const HeadlineInput& in);

[[nodiscard]] std::string NoCulpritText(const HeadlineInput& in);

}  // namespace lockstep
