#include "agent/pipeline/step_detection.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analysis/base/status_macros.h"
#include "analysis/condense/rhythm.h"

namespace lockstep {
namespace {

constexpr size_t kMaxUnits = 262'144;
constexpr size_t kMaxAnchors = RecordCollector::kMaxSteps;
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

class Detection {
 public:
  explicit Detection(RecordCollector& collector) : collector_(collector), processes_(collector.steps().size()) {}

  absl::Status Run() {
    if (!ChooseProcesses()) return absl::OkStatus();
    LOCKSTEP_RETURN_IF_ERROR(ForEachRecord([this](Process& process, const DeviceRecord& record) {
      if (process.walker.Take(record) && process.units.size() < kMaxUnits) {
        process.units.push_back(process.walker.unit());
      }
    }));
    bool any = false;
    for (Process& process : processes_) {
      if (process.wanted) process.rhythm = FindRhythm(process.units);
      process.wanted = process.rhythm.has_value();
      process.units = {};
      process.walker = UnitWalker();
      any = any || process.wanted;
    }
    if (!any) return absl::OkStatus();
    LOCKSTEP_RETURN_IF_ERROR(
        ForEachRecord([](Process& process, const DeviceRecord& record) { TakeAnchor(process, record); }));
    LOCKSTEP_RETURN_IF_ERROR(FindLaunches());
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

  static void TakeAnchor(Process& process, const DeviceRecord& record) {
    if (!process.walker.Take(record)) return;
    const size_t unit = process.all_units++;
    if (process.walker.unit().token != process.rhythm->anchor || process.anchors.size() >= kMaxAnchors) return;
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
    const auto launched = std::count_if(process.anchors.begin(), process.anchors.end(),
                                        [](const Anchor& anchor) { return anchor.launch_ns != INT64_MIN; });
    const bool by_device = launched * 10 < static_cast<int64_t>(process.anchors.size()) * 9;
    std::vector<int64_t> starts;
    for (const Anchor& anchor : process.anchors) {
      const int64_t start_ns = by_device ? anchor.device_ns : anchor.launch_ns;
      if (start_ns != INT64_MIN) starts.push_back(start_ns);
    }
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    std::vector<StepRange> steps;
    for (size_t i = 0; i + 1 < starts.size(); ++i) {
      steps.push_back({.start_ns = starts[i], .end_ns = starts[i + 1], .number = static_cast<int64_t>(i)});
    }
    const bool last_is_whole = process.all_units - process.anchors.back().unit >= process.rhythm->units_per_step;
    if (last_is_whole && !starts.empty()) {
      steps.push_back({.start_ns = starts.back(), .end_ns = kEnd, .number = static_cast<int64_t>(starts.size()) - 1});
    }
    if (!steps.empty()) collector_.SetDetectedSteps(index, std::move(steps), by_device);
  }

  // Beyond every time a reader lets through, and far from overflow when the base is added.
  static constexpr int64_t kEnd = int64_t{1} << 61;

  RecordCollector& collector_;
  std::vector<Process> processes_;
};

}  // namespace

absl::Status DetectSteps(RecordCollector& collector) { return Detection(collector).Run(); }

}  // namespace lockstep
