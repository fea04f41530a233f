#include "analysis/export/perfetto/timeline_format.h"

#include <array>

namespace lockstep::perfetto {

std::string_view Name(Category category) {
  static constexpr std::array<std::string_view, kCategories> kNames = {
      "step", "collective", "kernel", "copy", "memset", "graph", "gap", "wait", "transfer", "about"};
  return kNames[static_cast<size_t>(category)];
}

std::string_view Name(Key key) {
  static constexpr std::array<std::string_view, kKeys> kNames = {"step",
                                                                 "bytes",
                                                                 "communicator",
                                                                 "sequence_number",
                                                                 "kernel",
                                                                 "members",
                                                                 "wait_ns",
                                                                 "wait_uncertainty_ns",
                                                                 "lateness_ns",
                                                                 "spread_ns",
                                                                 "spread_uncertainty_ns",
                                                                 "last_rank",
                                                                 "last_certain",
                                                                 "last_arrival_ns",
                                                                 "transfer_ns",
                                                                 "compute_ns",
                                                                 "communication_ns",
                                                                 "exposed_communication_ns",
                                                                 "idle_host_ns",
                                                                 "idle_launch_ns",
                                                                 "idle_dependency_ns",
                                                                 "idle_other_ns"};
  return kNames[static_cast<size_t>(key)];
}

}  // namespace lockstep::perfetto
