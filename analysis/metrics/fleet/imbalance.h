// How unevenly the work and its time lie on the ranks, and the efficiency of the fleet, over the common window.
//
// Definitions: docs/algorithms/imbalance.md. Time quantities of the window are exact over the window;
// launches and nccl_* are of the steps of the window, or of the whole capture when the window is no run of steps;
// family:<name> is always of the whole capture; phase:<name> (kernel time launched inside annotations of forward,
// backward, optimizer) like launches. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/metrics/fleet/fleet_measures.h"

namespace lockstep {

enum class ImbalanceKind : uint8_t { kUnknown = 0, kMoreWork = 1, kSlower = 2 };
[[nodiscard]] std::string_view Name(ImbalanceKind kind);  // "unknown" | "more_work" | "slower"

// Why a device is idle (idle.h); kUnknown where no cause stands out.
enum class IdleCause : uint8_t { kUnknown = 0, kHost, kLaunch, kDependency, kOther };
[[nodiscard]] std::string_view Name(IdleCause cause);  // "" | "host" | "launch" | "dependency" | "other"

struct GroupValue {
  std::string id;    // host name or communicator id
  std::string name;  // communicator's name; "" = none
  double mean = 0;   // over the members present
};

struct Quantity {
  std::string name;
  std::string unit;            // "ns" | "count"
  bool over_window = true;     // false: over the whole capture
  std::vector<double> values;  // parallel to Fleet::members
  std::vector<GroupValue> by_host;
  std::vector<GroupValue> by_group;
  std::optional<double> max_over_mean;  // max / mean; null when all are 0
  std::optional<double> max_minus_min_over_max;
  std::optional<double> cv;     // sample standard deviation / mean; null for one rank
  std::optional<size_t> worst;  // into Fleet::members
  ImbalanceKind kind = ImbalanceKind::kUnknown;
  // Communication of which the worst rank has more because it waits longer for others: neither its work nor its speed.
  bool waits = false;
  IdleCause idle_cause = IdleCause::kUnknown;  // of idle: of at least half of what the worst rank has over the mean
};

// parallel = load_balance * communication; communication = busy_share * orchestration = serialisation * transfer, exact
// up to rounding. The last two need T_ideal, the window's length in a replay with free transfer: SetIdealTime.
struct Efficiency {
  int64_t window_ns = 0;
  std::optional<double> parallel;       // mean u / T
  std::optional<double> load_balance;   // mean u / max u
  std::optional<double> communication;  // max u / T
  std::optional<double> busy_share;     // max u / max b
  std::optional<double> orchestration;  // max b / T
  std::optional<double> serialisation;  // max u / T_ideal; null without a faithful replay
  std::optional<double> transfer;       // T_ideal / T; null without a faithful replay
};

// Fills serialisation and transfer from a replay in which the same work took `ideal_ratio` of its measured time with
// free transfer. Outside (0, 1] nothing is told: both stay null.
void SetIdealTime(double ideal_ratio, Efficiency& efficiency);

struct Imbalance {
  std::vector<Quantity> quantities;  // in the order of the definitions
  Efficiency efficiency;
};

[[nodiscard]] Imbalance ComputeImbalance(const Fleet& fleet, const FleetMeasures& measures);

}  // namespace lockstep
