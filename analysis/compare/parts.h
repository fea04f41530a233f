// The parts that a step's time is split into, which sum to it exactly: names, words, and where they are in a profile.
#pragma once

#include <array>
#include <string_view>

#include "analysis/report/rows/profile.h"

namespace lockstep::compare {

struct PartOfStep {
  std::string_view name;   // of the metric and of the ledger's entry
  std::string_view kind;   // LedgerEntry::kind
  std::string_view label;  // in words
  report::Count report::ProfileStep::*total;

  [[nodiscard]] constexpr bool IsWork() const { return kind == "work"; }
};

inline constexpr std::array<PartOfStep, 10> kPartsOfStep = {{
    {"compute", "work", "computing", &report::ProfileStep::compute_ns},
    {"exposed_wait", "wait", "waiting for later ranks", &report::ProfileStep::exposed_wait_ns},
    {"exposed_transfer", "transfer", "moving data", &report::ProfileStep::exposed_transfer_ns},
    {"exposed_unresolved", "unresolved", "waiting or transferring, not separable",
     &report::ProfileStep::exposed_unresolved_ns},
    {"copy", "work", "copying", &report::ProfileStep::copy_only_ns},
    {"opaque", "work", "CUDA graphs traced as a whole", &report::ProfileStep::opaque_only_ns},
    {"idle_host", "idle", "idle, the host launches late", &report::ProfileStep::idle_host_ns},
    {"idle_launch", "idle", "idle between launch and start", &report::ProfileStep::idle_launch_ns},
    {"idle_dependency", "idle", "idle, waiting for own work", &report::ProfileStep::idle_dependency_ns},
    {"idle_other", "idle", "idle, cause unknown", &report::ProfileStep::idle_other_ns},
}};

}  // namespace lockstep::compare
