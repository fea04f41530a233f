#include "agent/pipeline/step_detection.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/base/status_macros.h"
#include "analysis/condense/rhythm.h"
#include "analysis/model/row_values.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr size_t kMaxUnits = 262'144;
constexpr uint32_t kGraphMark = uint32_t{1} << 31;

// Puts together the records of one launch. Fed with one device's records in order of launch.
class UnitWalker {
 public:
  // True if the record begins a new unit: see unit().
  bool Take(const DeviceRecord& record) {
    const int64_t end_ns = record.start_ns + record.duration_ns;
    const bool begins = !record.has_correlation || last_ != record.correlation;
    if (begins) {
      const bool whole = record.kind == DeviceKind::kGraphSpan || record.from_graph;
      unit_.token = record.name == kNoId ? kGraphMark - 1 : record.name;
      if (whole) unit_.token |= kGraphMark;
      unit_.pause_before_ns = busy_to_ns_ == kNoTime ? 0 : std::max<int64_t>(0, record.start_ns - busy_to_ns_);
    }
    last_ = record.has_correlation ? std::optional(record.correlation) : std::nullopt;
    busy_to_ns_ = std::max(busy_to_ns_, end_ns);
    return begins;
  }
  [[nodiscard]] const LaunchUnit& unit() const { return unit_; }

 private:
  static constexpr int64_t kNoTime = INT64_MIN;
  LaunchUnit unit_;
  std::optional<uint64_t> last_;
  int64_t busy_to_ns_ = kNoTime;
};

struct Anchor {
  int64_t launch_ns = INT64_MIN;
  int64_t device_ns = 0;
  size_t unit = 0;
};

struct Process {
  bool wanted = false;
  int32_t device = 0;
  UnitWalker walker;
  std::vector<LaunchUnit> units;
  std::optional<Rhythm> rhythm;
  std::vector<Anchor> anchors;
  std::unordered_map<uint64_t, size_t> by_correlation;  // of an anchor
  size_t all_units = 0;
};

class StepDetection {
 public:
  explicit StepDetection(RecordCollector& collector) : collector_(collector), processes_(collector.steps().size()) {}

  absl::Status Run() {
    if (!ChooseProcesses()) return absl::OkStatus();
    LOCKSTEP_RETURN_IF_ERROR(ForEachRecord([](Process& process, const DeviceRecord& record) {
      if (process.walker.Take(record) && process.units.size() < kMaxUnits) {
        process.units.push_back(process.walker.unit());
      }
    }));
    bool any = false;
    for (Process& process : processes_) {
      if (process.wanted) process.rhythm = FindRhythm(process.units);
      process.wanted = process.rhythm.has_value() && IsStep(*process.rhythm);
      process.units = {};
      process.walker = UnitWalker();
      any = any || process.wanted;
    }
    if (!any) return absl::OkStatus();
    LOCKSTEP_RETURN_IF_ERROR(
        ForEachRecord([this](Process& process, const DeviceRecord& record) { TakeAnchor(process, record); }));
    LOCKSTEP_RETURN_IF_ERROR(FindLaunches());
    if (steps_ > RecordCollector::kMaxSteps) return absl::OkStatus();
    for (uint32_t i = 0; i < processes_.size(); ++i) {
      if (processes_[i].wanted) GiveSteps(i);
    }
    return absl::OkStatus();
  }

 private:
  // Processes without steps, each with the device that runs most kernels.
  bool ChooseProcesses() {
    std::vector<int64_t> most(processes_.size(), 0);
    bool any = false;
    for (size_t source = 0; source < collector_.sources().size(); ++source) {
      const auto& [process, device] = collector_.sources()[source];
      const int64_t kernels = collector_.kernels_of(source);
      if (!collector_.steps()[process].empty() || kernels <= most[process]) continue;
      most[process] = kernels;
      processes_[process].wanted = any = true;
      processes_[process].device = device;
    }
    return any;
  }

  template <typename Take>
  absl::Status ForEachRecord(Take take) {
    DeviceRecord record;
    while (true) {
      LOCKSTEP_ASSIGN_OR_RETURN(const bool more, collector_.devices().Next(record));
      if (!more) return collector_.devices().Rewind();
      Process& process = processes_[record.process];
      const bool runs = record.kind == DeviceKind::kKernel || record.kind == DeviceKind::kGraphSpan;
      if (process.wanted && runs && record.device == process.device) take(process, record);
    }
  }

  // One kernel over and over, as in a bandwidth test, is no step; one graph is.
  static bool IsStep(const Rhythm& rhythm) { return rhythm.units_per_step > 1 || (rhythm.anchor & kGraphMark) != 0; }

  void TakeAnchor(Process& process, const DeviceRecord& record) {
    if (!process.walker.Take(record)) return;
    const size_t unit = process.all_units++;
    if (process.walker.unit().token != process.rhythm->anchor || ++steps_ > RecordCollector::kMaxSteps) return;
    if (record.has_correlation) process.by_correlation.emplace(record.correlation, process.anchors.size());
    process.anchors.push_back({.device_ns = record.start_ns, .unit = unit});
  }

  absl::Status FindLaunches() {
    HostEvent event;
    while (true) {
      LOCKSTEP_ASSIGN_OR_RETURN(const bool more, collector_.host_events().Next(event));
      if (!more) return collector_.host_events().Rewind();
      if (!event.is_api || !event.has_correlation) continue;
      Process& process = processes_[event.process];
      const auto found = process.by_correlation.find(event.correlation);
      if (found == process.by_correlation.end()) continue;
      int64_t& launch_ns = process.anchors[found->second].launch_ns;
      if (launch_ns == INT64_MIN) launch_ns = event.start_ns;  // the outer one of nested calls
    }
  }

  void GiveSteps(uint32_t index) {
    Process& process = processes_[index];
    std::vector<int64_t> lags;  // from the launch of an anchor to its start
    for (const Anchor& anchor : process.anchors) {
      if (anchor.launch_ns != INT64_MIN) lags.push_back(anchor.device_ns - anchor.launch_ns);
    }
    const bool by_device = lags.size() * 10 < process.anchors.size() * 9;
    const int64_t lag_ns = by_device ? 0 : Quantile(std::move(lags), 0.5);
    std::vector<int64_t> starts;
    for (const Anchor& anchor : process.anchors) {
      const bool launched = !by_device && anchor.launch_ns != INT64_MIN;
      starts.push_back(launched ? anchor.launch_ns : anchor.device_ns - lag_ns);
    }
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    std::vector<StepRange> steps;
    std::vector<int64_t> lengths;
    for (size_t i = 0; i + 1 < starts.size(); ++i) {
      steps.push_back({.start_ns = starts[i], .end_ns = starts[i + 1], .number = static_cast<int64_t>(i)});
      lengths.push_back(starts[i + 1] - starts[i]);
    }
    if (steps.empty()) return;
    const bool last_is_whole = process.all_units - process.anchors.back().unit >= process.rhythm->units_per_step;
    if (last_is_whole) {
      // What the host does after the loop is no part of its last step.
      const int64_t end_ns = starts.back() + Quantile(std::move(lengths), 0.9);
      steps.push_back({.start_ns = starts.back(), .end_ns = end_ns, .number = static_cast<int64_t>(steps.size())});
    }
    collector_.SetDetectedSteps(index, std::move(steps), by_device);
  }

  static int64_t Quantile(std::vector<int64_t> values, double q) {
    const auto place = static_cast<size_t>(q * static_cast<double>(values.size() - 1));
    return OrderStatistic(std::move(values), place);
  }

  RecordCollector& collector_;
  std::vector<Process> processes_;
  size_t steps_ = 0;  // of all processes; what repeats more often than RecordCollector::kMaxSteps is no step
};

}  // namespace

absl::Status DetectSteps(RecordCollector& collector) { return StepDetection(collector).Run(); }

}  // namespace lockstep
