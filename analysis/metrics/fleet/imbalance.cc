#include "analysis/metrics/fleet/imbalance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "analysis/metrics/fleet/work_units.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

// More than this over the mean before a reason is looked for.
constexpr double kNoteworthyExcess = 1.01;
constexpr size_t kMaxGroups = 64;

// Sums over the steps of the window, or over all that are selected.
struct StepSums {
  int64_t launches = 0;
  int64_t steps = 0;
  int64_t step_time_ns = 0;
  int64_t collectives = 0;
  int64_t collective_time_ns = 0;
  int64_t collective_max_ns = 0;
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;
  int64_t optimizer_ns = 0;
};

StepSums SumSteps(const Fleet& fleet, const CommonWindow& window, size_t member) {
  const std::vector<StepRow>& rows = fleet.members[member].source->steps;
  const bool steps = window.kind == WindowKind::kSteps;
  const size_t first = steps ? window.step_rows[member].first : 0;
  const size_t last = steps ? window.step_rows[member].second : rows.size();
  StepSums sums;
  for (size_t i = first; i < last; ++i) {
    if (!fleet.SelectsStep(rows[i])) continue;
    sums.launches += rows[i].launches;
    sums.collectives += rows[i].collectives;
    sums.collective_time_ns += rows[i].collective_time_ns;
    sums.collective_max_ns = std::max(sums.collective_max_ns, rows[i].collective_max_ns);
    sums.forward_ns += rows[i].forward_ns;
    sums.backward_ns += rows[i].backward_ns;
    sums.optimizer_ns += rows[i].optimizer_ns;
    if (rows[i].step == kNoStep) continue;
    ++sums.steps;
    sums.step_time_ns += rows[i].tile.span_ns;
  }
  return sums;
}

// Built-in families in the order of their numbers, then those of the person.
std::vector<std::string> FamilyOrder(const ComputeWork& work) {
  std::vector<std::string> order;
  for (size_t i = 0; i <= static_cast<size_t>(kLastFamily); ++i) {
    const std::string name(Name(static_cast<Family>(i)));
    if (work.by_family.contains(name)) order.push_back(name);
  }
  for (const auto& [name, ranks] : work.by_family) {
    if (std::find(order.begin(), order.end(), name) == order.end()) order.push_back(name);
  }
  return order;
}

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

bool IsNoteworthy(const Quantity& quantity) {
  return quantity.worst && quantity.max_over_mean.value_or(0) >= kNoteworthyExcess;
}

// The worst rank's part of `values` over the mean; 0 where there is none.
double OverMean(const Quantity& quantity, const std::vector<double>& values) {
  if (!quantity.worst || values.empty()) return 0;
  const double mean = Mean(values);
  return mean > 0 ? values[*quantity.worst] / mean : 0;
}

// More units of work, or the same units slower: whichever explains more of the worst rank's excess.
void SetKind(const KernelWork& work, Quantity& quantity) {
  const double more = OverMean(quantity, work.expected_ns);
  if (!IsNoteworthy(quantity) || more <= 0) return;
  const double slower = *quantity.max_over_mean / more;
  quantity.kind = more > slower ? ImbalanceKind::kMoreWork : ImbalanceKind::kSlower;
}

// Of what communication takes: `take` gives the time, its part without waiting, and the messages behind it.
struct Traffic {
  double own_ns = 0;
  double bytes = 0;
  double messages = 0;
};
template <typename Take>
void SetKindOfTraffic(const std::vector<CommunicationWork>& work, Take take, Quantity& quantity) {
  if (!IsNoteworthy(quantity)) return;
  std::vector<double> own;
  std::vector<double> bytes;
  std::vector<double> messages;
  bool sized = true;
  for (const CommunicationWork& rank : work) {
    if (rank.instances == 0) return;
    const Traffic traffic = take(rank);
    own.push_back(traffic.own_ns);
    bytes.push_back(traffic.bytes);
    messages.push_back(traffic.messages);
    sized = sized && rank.all_sized;
  }
  const double own_ratio = OverMean(quantity, own);
  quantity.waits = own_ratio - 1 < 0.5 * (*quantity.max_over_mean - 1);
  if (quantity.waits) return;
  const double more = std::max(OverMean(quantity, messages), sized ? OverMean(quantity, bytes) : 0);
  if (more <= 0 || (!sized && more < kNoteworthyExcess)) return;
  quantity.kind = more > own_ratio / more ? ImbalanceKind::kMoreWork : ImbalanceKind::kSlower;
}

Traffic TotalOf(const CommunicationWork& w) {
  return {static_cast<double>(w.own_ns), static_cast<double>(w.bytes), static_cast<double>(w.instances)};
}

Traffic MeanOf(const CommunicationWork& w) {
  const auto instances = static_cast<double>(w.instances);
  return {static_cast<double>(w.own_ns) / instances, static_cast<double>(w.bytes) / instances, 1};
}

struct PartOfIdle {
  IdleCause cause;
  int64_t IntervalMeasure::*time_ns;
};
constexpr std::array<PartOfIdle, 4> kPartsOfIdle = {{{IdleCause::kHost, &IntervalMeasure::idle_host_ns},
                                                     {IdleCause::kLaunch, &IntervalMeasure::idle_launch_ns},
                                                     {IdleCause::kDependency, &IntervalMeasure::idle_dependency_ns},
                                                     {IdleCause::kOther, &IntervalMeasure::idle_other_ns}}};

// Of the idle time that the worst rank has over the mean: the part that makes up at least half of it.
void SetIdleCause(const FleetMeasures& measures, Quantity& quantity) {
  if (!IsNoteworthy(quantity)) return;
  const double excess = quantity.values[*quantity.worst] - Mean(quantity.values);
  for (const PartOfIdle& part : kPartsOfIdle) {
    std::vector<double> values;
    for (const RankMeasures& rank : measures.ranks) values.push_back(static_cast<double>(rank.common.*part.time_ns));
    if (2 * (values[*quantity.worst] - Mean(values)) < excess) continue;
    quantity.idle_cause = part.cause;
    return;
  }
}

std::vector<GroupValue> MeansByHost(const Fleet& fleet, const std::vector<double>& values) {
  std::map<std::string, std::pair<double, double>> hosts;
  for (size_t i = 0; i < values.size(); ++i) {
    if (fleet.members[i].host.empty()) continue;
    auto& [sum, count] = hosts[fleet.members[i].host];
    sum += values[i];
    count += 1;
  }
  std::vector<GroupValue> result;
  for (const auto& [host, sum] : hosts) result.push_back({host, "", sum.first / sum.second});
  return result;
}

// Communicators of several ranks, but not of all: a group that holds everybody tells nothing.
std::vector<GroupValue> MeansByCommunicator(const Fleet& fleet, const std::vector<double>& values) {
  std::vector<GroupValue> result;
  for (const Communicator& communicator : fleet.match.communicators) {
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const std::vector<int32_t>& members = communicator.members;
      if (std::find(members.begin(), members.end(), fleet.members[i].rank) == members.end()) continue;
      sum += values[i];
      ++count;
    }
    if (count == 0 || communicator.members.size() < 2 || count == values.size()) continue;
    result.push_back({communicator.id, communicator.name, sum / static_cast<double>(count)});
    if (result.size() == kMaxGroups) break;
  }
  return result;
}

Quantity Describe(const Fleet& fleet, std::string name, std::string unit, bool over_window,
                  std::vector<double> values) {
  Quantity quantity;
  quantity.name = std::move(name);
  quantity.unit = std::move(unit);
  quantity.over_window = over_window;
  quantity.by_host = MeansByHost(fleet, values);
  quantity.by_group = MeansByCommunicator(fleet, values);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const auto first_most = std::find(values.begin(), values.end(), *most);
  const double mean = Mean(values);
  if (mean > 0) {
    quantity.worst = static_cast<size_t>(first_most - values.begin());
    quantity.max_over_mean = *most / mean;
    quantity.max_minus_min_over_max = (*most - *least) / *most;
  }
  if (mean > 0 && values.size() > 1) {
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    quantity.cv = std::sqrt(squares / static_cast<double>(values.size() - 1)) / mean;
  }
  quantity.values = std::move(values);
  return quantity;
}

Efficiency ComputeEfficiency(const FleetMeasures& measures) {
  Efficiency efficiency;
  efficiency.window_ns = measures.window.span_ns;
  double sum_useful = 0;
  double max_useful = 0;
  double max_busy = 0;
  for (const RankMeasures& rank : measures.ranks) {
    const double useful = static_cast<double>(rank.common.compute_ns);
    sum_useful += useful;
    max_useful = std::max(max_useful, useful);
    max_busy = std::max(max_busy, static_cast<double>(rank.common.busy_ns()));
  }
  const double window = static_cast<double>(efficiency.window_ns);
  const double mean_useful = sum_useful / static_cast<double>(std::max<size_t>(measures.ranks.size(), 1));
  if (window <= 0) return efficiency;
  efficiency.parallel = mean_useful / window;
  efficiency.communication = max_useful / window;
  efficiency.orchestration = max_busy / window;
  if (max_useful > 0) efficiency.load_balance = mean_useful / max_useful;
  if (max_busy > 0) efficiency.busy_share = max_useful / max_busy;
  return efficiency;
}

// Collects the quantities in the order of the definitions.
class QuantityList {
 public:
  QuantityList(const Fleet& fleet, const FleetMeasures& measures)
      : fleet_(fleet),
        measures_(measures),
        work_(ComputeWorkOf(fleet)),
        traffic_(CommunicationWorkOf(fleet, measures.joined)) {
    for (size_t i = 0; i < fleet.members.size(); ++i) sums_.push_back(SumSteps(fleet, measures.window, i));
  }

  std::vector<Quantity> Build() {
    AddWindow("compute", [](const RankMeasures& m) { return m.common.compute_ns; });
    SetKind(work_.all, list_.back());
    AddWindow("comm", [](const RankMeasures& m) { return m.common.comm_ns; });
    SetKindOfTraffic(traffic_, TotalOf, list_.back());
    AddWindow("exposed_wait", [](const RankMeasures& m) { return m.common_exposure.wait_ns; });
    list_.back().waits = IsNoteworthy(list_.back());
    AddWindow("exposed_transfer", [](const RankMeasures& m) { return m.common_exposure.transfer_ns; });
    AddWindow("copy", [](const RankMeasures& m) { return m.common.copy_ns; });
    AddWindow("idle", [](const RankMeasures& m) { return m.common.idle_ns(); });
    // Of ranges, idle time is not that of the device.
    if (fleet_.options.nvtx.empty()) SetIdleCause(measures_, list_.back());
    AddStepTime();
    AddSteps("launches", "count", OfSteps([](const StepSums& s) { return s.launches; }));
    AddCommunication();
    AddPhases();
    AddFamilies();
    return std::move(list_);
  }

 private:
  template <typename Member>
  std::vector<double> OfSteps(Member member) const {
    std::vector<double> values;
    for (const StepSums& sums : sums_) values.push_back(static_cast<double>(member(sums)));
    return values;
  }

  template <typename Member>
  void AddWindow(std::string name, Member member) {
    std::vector<double> values;
    for (const RankMeasures& rank : measures_.ranks) values.push_back(static_cast<double>(member(rank)));
    list_.push_back(Describe(fleet_, std::move(name), "ns", true, std::move(values)));
  }

  void AddSteps(std::string name, std::string unit, std::vector<double> values) {
    const WindowKind kind = measures_.window.kind;
    const bool over_window = kind == WindowKind::kSteps || kind == WindowKind::kRanges;
    list_.push_back(Describe(fleet_, std::move(name), std::move(unit), over_window, std::move(values)));
  }

  // Only where every rank has steps.
  void AddStepTime() {
    const bool all = std::all_of(sums_.begin(), sums_.end(), [](const StepSums& s) { return s.steps > 0; });
    if (!all) return;
    AddSteps("step_time", "ns", OfSteps([](const StepSums& s) {
               return static_cast<double>(s.step_time_ns) / static_cast<double>(s.steps);
             }));
  }

  void AddCommunication() {
    const std::vector<double> counts = OfSteps([](const StepSums& s) { return s.collectives; });
    const std::vector<double> totals = OfSteps([](const StepSums& s) { return s.collective_time_ns; });
    AddSteps("nccl_total", "ns", totals);
    SetKindOfTraffic(traffic_, TotalOf, list_.back());
    AddSteps("nccl_count", "count", counts);
    if (IsNoteworthy(list_.back())) list_.back().kind = ImbalanceKind::kMoreWork;
    std::vector<double> means = totals;
    for (size_t i = 0; i < means.size(); ++i) means[i] = counts[i] > 0 ? means[i] / counts[i] : 0;
    AddSteps("nccl_mean", "ns", means);
    SetKindOfTraffic(traffic_, MeanOf, list_.back());
    AddSteps("nccl_max", "ns", OfSteps([](const StepSums& s) { return s.collective_max_ns; }));
    if (!IsNoteworthy(list_.back())) return;
    const CommunicationWork& worst = traffic_[*list_.back().worst];
    list_.back().waits = worst.longest_ns > 0 && 2 * worst.longest_wait_ns > worst.longest_ns;
  }

  // Where annotations tell them.
  void AddPhases() {
    const std::array<std::pair<std::string_view, int64_t StepSums::*>, 3> phases = {
        {{"phase:forward", &StepSums::forward_ns},
         {"phase:backward", &StepSums::backward_ns},
         {"phase:optimizer", &StepSums::optimizer_ns}}};
    for (const auto& [name, part] : phases) {
      std::vector<double> values = OfSteps([part = part](const StepSums& s) { return s.*part; });
      if (std::any_of(values.begin(), values.end(), [](double v) { return v > 0; })) {
        AddSteps(std::string(name), "ns", std::move(values));
      }
    }
  }

  void AddFamilies() {
    for (const std::string& family : FamilyOrder(work_)) {
      const KernelWork& work = work_.by_family.at(family);
      list_.push_back(Describe(fleet_, fmt::format("family:{}", family), "ns", false, work.total_ns));
      if (family == Name(Family::kCommunication)) {
        SetKindOfTraffic(traffic_, TotalOf, list_.back());
      } else {
        SetKind(work, list_.back());
      }
    }
  }

  const Fleet& fleet_;
  const FleetMeasures& measures_;
  const ComputeWork work_;
  const std::vector<CommunicationWork> traffic_;
  std::vector<StepSums> sums_;
  std::vector<Quantity> list_;
};

}  // namespace

std::string_view Name(ImbalanceKind kind) {
  switch (kind) {
    case ImbalanceKind::kMoreWork:
      return "more_work";
    case ImbalanceKind::kSlower:
      return "slower";
    case ImbalanceKind::kUnknown:
      break;
  }
  return "unknown";
}

std::string_view Name(IdleCause cause) {
  switch (cause) {
    case IdleCause::kHost:
      return "host";
    case IdleCause::kLaunch:
      return "launch";
    case IdleCause::kDependency:
      return "dependency";
    case IdleCause::kOther:
      return "other";
    case IdleCause::kUnknown:
      break;
  }
  return "";
}

void SetIdealTime(double ideal_ratio, Efficiency& efficiency) {
  efficiency.serialisation.reset();
  efficiency.transfer.reset();
  // No run is shorter than a rank's own work in it: a ratio that says so is of other steps than the window's.
  if (!(ideal_ratio > 0 && ideal_ratio <= 1) || !efficiency.communication || *efficiency.communication > ideal_ratio) {
    return;
  }
  efficiency.transfer = ideal_ratio;
  efficiency.serialisation = *efficiency.communication / ideal_ratio;
}

Imbalance ComputeImbalance(const Fleet& fleet, const FleetMeasures& measures) {
  Imbalance result;
  if (fleet.members.empty()) return result;
  result.quantities = QuantityList(fleet, measures).Build();
  result.efficiency = ComputeEfficiency(measures);
  return result;
}

}  // namespace lockstep
