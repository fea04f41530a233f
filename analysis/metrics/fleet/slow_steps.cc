#include "analysis/metrics/fleet/slow_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "analysis/model/kernel_class.h"
#include "analysis/model/row_values.h"
#include "analysis/stats/order_statistic.h"

namespace lockstep {
namespace {

constexpr double kSecond = 0.25;   // of the excess: worth naming beside the largest part
constexpr double kMostOfIt = 0.5;  // of a part's excess
constexpr double kMoreKernels = 1.05;

enum PartNumber : size_t {
  kCompute,
  kWait,
  kTransfer,
  kUntold,
  kCopy,
  kOpaque,
  kHost,
  kLaunch,
  kDependency,
  kOther,
  kParts
};
constexpr std::array<std::string_view, kParts> kPartNames = {"computing",
                                                             "waiting for other ranks",
                                                             "transferring",
                                                             "communication (wait or transfer untold)",
                                                             "copies",
                                                             "opaque graphs",
                                                             "idle for the host",
                                                             "idle for launches",
                                                             "idle for a dependency",
                                                             "idle for an untold reason"};

std::vector<int64_t> StepPartsOf(const StepRow& row, const Exposure& exposure) {
  const IntervalMeasure& m = row.tile;
  return {m.compute_ns,     exposure.wait_ns, exposure.transfer_ns, exposure.unresolved_ns, m.copy_only_ns,
          m.opaque_only_ns, m.idle_host_ns,   m.idle_launch_ns,     m.idle_dependency_ns,   m.idle_other_ns};
}

std::string Ms(int64_t ns) { return fmt::format("{:.4g} ms", 1e-6 * static_cast<double>(ns)); }

template <typename Value>
int64_t MedianOver(const std::vector<StepRow>& steps, const std::vector<size_t>& rows, Value value) {
  std::vector<int64_t> values;
  for (const size_t row : rows) values.push_back(value(steps[row]));
  return LowerMedian(std::move(values));
}

bool IsMostOf(int64_t part_ns, int64_t whole_ns) {
  return static_cast<double>(part_ns) >= kMostOfIt * static_cast<double>(whole_ns);
}

}  // namespace

SlowSteps::SlowSteps(const Fleet& fleet, const FleetMeasures& measures) : fleet_(fleet), measures_(measures) {
  members_.resize(fleet.members.size());
  for (size_t member = 0; member < members_.size(); ++member) Take(member);
}

void SlowSteps::Take(size_t member) {
  const SourceData& source = *fleet_.members[member].source;
  OfMember& of = members_[member];
  for (const StepKernelRow& row : source.step_kernels) of.kernels[row.step].push_back(&row);
  for (const KernelRow& row : source.kernels) {
    if (!row.is_rest) of.classes.emplace(row.name, row.kind);
  }
  const ComparedSteps compared = FindComparedSteps(source);
  std::optional<Usual> of_all;
  for (const auto& [phase, rows] : compared.by_phase) {
    if (rows.size() >= kMinComparedSteps) {
      of.by_phase.emplace(phase, UsualOf(member, rows));
      continue;
    }
    if (!of_all) of_all = UsualOf(member, compared.all);
    of.by_phase.emplace(phase, *of_all);
  }
}

SlowSteps::Usual SlowSteps::UsualOf(size_t member, const std::vector<size_t>& rows) const {
  const std::vector<StepRow>& steps = fleet_.members[member].source->steps;
  Usual usual;
  std::vector<std::vector<int64_t>> parts(kParts);
  std::map<uint32_t, std::pair<std::vector<int64_t>, std::vector<int64_t>>> names;
  for (const size_t row : rows) {
    const std::vector<int64_t> own = StepPartsOf(steps[row], measures_.ranks[member].by_step[row]);
    for (size_t part = 0; part < kParts; ++part) parts[part].push_back(own[part]);
    const auto kernels = members_[member].kernels.find(steps[row].step);
    if (kernels == members_[member].kernels.end()) continue;
    for (const StepKernelRow* kernel : kernels->second) {
      names[kernel->name].first.push_back(kernel->total_ns);
      names[kernel->name].second.push_back(kernel->instances);
    }
  }
  for (std::vector<int64_t>& values : parts) usual.parts.push_back(LowerMedian(std::move(values)));
  for (auto& [name, values] : names) {
    values.first.resize(rows.size());  // steps without it
    values.second.resize(rows.size());
    usual.by_name[name] = {LowerMedian(std::move(values.first)), LowerMedian(std::move(values.second))};
  }
  usual.span = UsualSpanOf(steps, rows);
  usual.kernels = MedianOver(steps, rows, [](const StepRow& r) { return r.kernels; });
  usual.longest_gap_ns = MedianOver(steps, rows, [](const StepRow& r) { return r.longest_gap_ns; });
  usual.sync_ns = MedianOver(steps, rows, [](const StepRow& r) { return r.sync_ns; });
  usual.alloc_ns = MedianOver(steps, rows, [](const StepRow& r) { return r.alloc_ns; });
  usual.launch_ns = MedianOver(steps, rows, [](const StepRow& r) { return r.launch_ns; });
  usual.host_copies = MedianOver(steps, rows, [](const StepRow& r) { return r.host_copies; });
  return usual;
}

const SlowSteps::Usual* SlowSteps::UsualFor(size_t member, size_t row) const {
  const StepRow& step = fleet_.members[member].source->steps[row];
  if (step.step == kNoStep) return nullptr;
  const auto usual = members_[member].by_phase.find(step.phase);
  return usual == members_[member].by_phase.end() ? nullptr : &usual->second;
}

bool SlowSteps::IsSlow(size_t member, size_t row) const {
  const Usual* usual = UsualFor(member, row);
  if (usual == nullptr) return false;
  return usual->span.IsExceededBy(fleet_.members[member].source->steps[row]);
}

std::string SlowSteps::Why(size_t member, size_t row) const {
  if (!IsSlow(member, row)) return "";
  const StepRow& step = fleet_.members[member].source->steps[row];
  const Usual& usual = *UsualFor(member, row);
  std::vector<int64_t> excess = StepPartsOf(step, measures_.ranks[member].by_step[row]);
  for (size_t part = 0; part < kParts; ++part) excess[part] -= usual.parts[part];
  const auto largest = static_cast<size_t>(std::max_element(excess.begin(), excess.end()) - excess.begin());
  const int64_t longer = step.tile.span_ns - usual.span.span_ns;
  std::string text = fmt::format("{} ({:.3g} %) longer than the median step: ", Ms(longer),
                                 100.0 * static_cast<double>(longer) / static_cast<double>(usual.span.span_ns));
  if (const std::string at_end = OfCaptureEnd(member, row, longer); !at_end.empty()) return text + at_end;
  text +=
      fmt::format("{} +{}{}", kPartNames[largest], Ms(excess[largest]), Detail(member, row, largest, excess[largest]));
  excess[largest] = 0;
  const auto second = static_cast<size_t>(std::max_element(excess.begin(), excess.end()) - excess.begin());
  if (static_cast<double>(excess[second]) < kSecond * static_cast<double>(longer)) return text;
  return text +
         fmt::format("; {} +{}{}", kPartNames[second], Ms(excess[second]), Detail(member, row, second, excess[second]));
}

// The window of the last step goes on to the end of the capture, whatever is launched after it.
std::string SlowSteps::OfCaptureEnd(size_t member, size_t row, int64_t longer_ns) const {
  const std::vector<StepRow>& steps = fleet_.members[member].source->steps;
  const StepRow& step = steps[row];
  if (row + 1 < steps.size() || step.last_end_ns == kNoTime) return "";
  const int64_t beyond_ns = step.window_end_ns - step.last_end_ns;
  if (!IsMostOf(beyond_ns, longer_ns)) return "";
  return fmt::format("the last one, whose window reaches {} beyond its own work to the end of the capture",
                     Ms(beyond_ns));
}

std::string SlowSteps::Detail(size_t member, size_t row, size_t part, int64_t excess_ns) const {
  const StepRow& step = fleet_.members[member].source->steps[row];
  const Usual& usual = *UsualFor(member, row);
  if (part == kCompute && IsMostOf(step.foreign.compute_ns, excess_ns)) return ", launched in no step";
  if (part == kCopy && IsMostOf(step.foreign.copy_only_ns, excess_ns)) return ", launched in no step";
  if (part == kCompute) return OfKernels(member, row, usual, excess_ns);
  if (part == kWait) return OfAwaited(member, row);
  if (part == kCopy && step.host_copies != usual.host_copies) {
    return fmt::format(", {} copies between host and device instead of {}", step.host_copies, usual.host_copies);
  }
  if (part != kHost && part != kLaunch) return "";
  const std::array<std::pair<std::string_view, int64_t>, 2> calls = {
      {{"allocations", step.alloc_ns - usual.alloc_ns}, {"launch calls", step.launch_ns - usual.launch_ns}}};
  for (const auto& [name, more_ns] : calls) {
    if (IsMostOf(more_ns, excess_ns)) return fmt::format(", {} +{}", name, Ms(more_ns));
  }
  const int64_t gap_ns = step.longest_gap_ns - usual.longest_gap_ns;
  if (IsMostOf(gap_ns, excess_ns)) return fmt::format(", one gap of {}", Ms(step.longest_gap_ns));
  return ", in many gaps";
}

// The kernel that most of it lies in, and whether it ran more often or longer.
std::string SlowSteps::OfKernels(size_t member, size_t row, const Usual& usual, int64_t excess_ns) const {
  const SourceData& source = *fleet_.members[member].source;
  const StepRow& step = source.steps[row];
  std::string text;
  if (static_cast<double>(step.kernels) > kMoreKernels * static_cast<double>(usual.kernels)) {
    text = fmt::format(", more work: {} kernels instead of {}", step.kernels, usual.kernels);
  }
  const auto kept = members_[member].kernels.find(step.step);
  if (kept == members_[member].kernels.end()) return text;
  const StepKernelRow* most = nullptr;
  int64_t most_ns = 0;
  int64_t all_ns = 0;
  int64_t usual_ns = 0;
  for (const StepKernelRow* kernel : kept->second) {
    if (ClassOf(member, kernel->name).category == Category::kCommunication) continue;
    const auto known = usual.by_name.find(kernel->name);
    const int64_t before_ns = known == usual.by_name.end() ? 0 : known->second.first;
    all_ns += kernel->total_ns;
    usual_ns += before_ns;
    if (kernel->total_ns - before_ns <= most_ns) continue;
    most = kernel;
    most_ns = kernel->total_ns - before_ns;
  }
  if (most == nullptr) return text;
  const std::string& name = NameOf(fleet_.run, most->name);
  const auto known = usual.by_name.find(most->name);
  const int64_t launches = known == usual.by_name.end() ? 0 : known->second.second;
  const std::string often = launches == most->instances
                                ? fmt::format("in as many launches ({})", launches)
                                : fmt::format("{} launches instead of {}", most->instances, launches);
  if (text.empty() && !IsMostOf(most_ns, excess_ns) && usual_ns > 0) {
    text =
        fmt::format(", kernels take {:.2f} times as long", static_cast<double>(all_ns) / static_cast<double>(usual_ns));
  }
  return text + fmt::format(", most in {:.60} ({}) +{} {}", BaseName(name), Name(ClassOf(member, most->name).family),
                            Ms(most_ns), often);
}

KernelClass SlowSteps::ClassOf(size_t member, uint32_t name) const {
  const auto& classes = members_[member].classes;
  const auto found = classes.find(name);
  return found != classes.end() ? found->second : ClassifyKernel(NameOf(fleet_.run, name));
}

std::string SlowSteps::OfAwaited(size_t member, size_t row) const {
  const auto waits = measures_.ranks[member].awaited.find(row);
  if (waits == measures_.ranks[member].awaited.end()) return "";
  std::pair<int32_t, int64_t> most{-1, 0};
  for (const auto& [rank, ns] : waits->second) {
    if (ns > most.second) most = {rank, ns};
  }
  if (most.first < 0) return "";
  return fmt::format(", for rank {} {}", fleet_.ranks.ranks[static_cast<size_t>(most.first)].rank, Ms(most.second));
}

}  // namespace lockstep
