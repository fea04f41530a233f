#include "analysis/metrics/summary/gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "analysis/metrics/fleet/bursts.h"
#include "analysis/metrics/fleet/interval_selection.h"
#include "analysis/metrics/match/group_contradictions.h"
#include "analysis/metrics/summary/capture_facts.h"
#include "analysis/metrics/summary/summary.h"
#include "analysis/model/row_values.h"

namespace lockstep {
namespace {

constexpr size_t kMaxListed = 8;
constexpr double kMuchNodeTracing = 0.05;

struct GateInput {
  const Fleet& fleet;
  const FleetMeasures& measures;
  const std::vector<FileNote>& files;
  const std::optional<WaitingKernel>& waiting_kernel;
};

Gate Good(std::string detail) { return {"", true, std::move(detail), ""}; }
Gate NotApplicable(std::string detail) { return {"", std::nullopt, std::move(detail), ""}; }
Gate Bad(std::string detail, std::string fix) { return {"", false, std::move(detail), std::move(fix)}; }

// "3, 5, 7 and 12 more"
template <typename Items>
std::string List(const Items& items) {
  constexpr size_t kMostBytes = 1'200;
  std::string text;
  size_t listed = 0;
  for (const auto& item : items) {
    if (listed == kMaxListed || text.size() > kMostBytes) {
      return fmt::format("{} and {} more", text, items.size() - listed);
    }
    text += fmt::format("{}{}", listed++ == 0 ? "" : ", ", item);
  }
  return text;
}

template <typename Condition>
std::vector<int32_t> RanksWhere(const Fleet& fleet, Condition condition) {
  std::vector<int32_t> ranks;
  for (const FleetRank& member : fleet.members) {
    if (condition(member)) ranks.push_back(member.rank);
  }
  return ranks;
}

template <typename Value>
int64_t SumOver(const Fleet& fleet, Value value) {
  int64_t sum = 0;
  for (const FleetRank& member : fleet.members) sum += value(*member.source);
  return sum;
}

double Percent(int64_t part, int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

Gate KernelsPresent(const GateInput& in) {
  const auto without = RanksWhere(
      in.fleet, [](const FleetRank& m) { return m.source->context.kernels + m.source->context.graph_spans == 0; });
  if (without.empty()) return Good("every rank has kernels");
  return Bad(
      fmt::format("no kernel on rank {}{}", List(without), DiagnosticsOf(in.fleet, without)),
      "capture with GPU activities on: nsys profile --trace=cuda,nvtx, or ProfilerActivity.CUDA; let the process "
      "end by itself so that the buffers are flushed");
}

int64_t OpaqueLaunches(const SourceData& source) {
  return std::max(source.context.opaque_graph_launches, source.context.graph_spans);
}

// Those of the steps; where there are more outside, or no steps, at least one for each kernel that ran outside graphs.
// 0 where no call was recorded.
int64_t LaunchesOf(const SourceData& source) {
  const SourceContext& context = source.context;
  const int64_t opaque = OpaqueLaunches(source);
  int64_t in_steps = 0;
  for (const StepRow& row : source.steps) in_steps += row.launches;
  if (context.api_rows == 0) return std::max(in_steps, opaque);
  return std::max(in_steps, context.kernels - context.graph_kernels + opaque);
}

Gate GraphsVisible(const GateInput& in) {
  const int64_t opaque = SumOver(in.fleet, OpaqueLaunches);
  const int64_t launches = SumOver(in.fleet, LaunchesOf);
  if (launches == 0) return NotApplicable("no launch was recorded");
  const std::string detail =
      fmt::format("{} of {} launches are CUDA graphs whose kernels are not in the trace", opaque, launches);
  if (opaque * 100 <= launches) return Good(detail);
  return Bad(detail,
             "capture the nodes of graphs: nsys profile --cuda-graph-trace=node, or run eagerly for the capture");
}

Gate FilesWhole(const GateInput& in) {
  std::vector<std::string> broken;
  for (const FileNote& file : in.files) {
    if (file.status == "partial" || file.status == "refused")
      broken.push_back(fmt::format("{} ({})", file.path, file.reason));
  }
  const auto open = RanksWhere(in.fleet, [](const FleetRank& m) { return !m.source->complete; });
  if (!broken.empty()) {
    return Bad(fmt::format("{} of {} files could not be used whole: {}", broken.size(), in.files.size(), List(broken)),
               "copy the file again or capture again; wait for the profiler to finish writing before copying");
  }
  if (!open.empty()) {
    return Bad(fmt::format("rank {} is still arriving", List(open)), "wait for its agent, or finish the run by hand");
  }
  for (const FleetRank& member : in.fleet.members) {
    const auto cut = FindCutStep(*member.source);
    if (!cut) continue;
    return Bad(fmt::format("the capture of rank {} begins or ends inside step {}: {} of about {} kernels are there",
                           member.rank, cut->step, cut->kernels, cut->expected),
               "start and stop between two steps, and let the profiler flush (cudaDeviceSynchronize before stop)");
  }
  return Good(fmt::format("{} files read to their end", in.files.size()));
}

// The rank that lacks most of the collectives that the others have; "" where none lacks many.
std::string LackingText(const Fleet& fleet) {
  for (const LostCollectives& it : fleet.match.lost) {
    if (!it.IsMuch()) break;
    return fmt::format("; rank {} lacks {} of {} collectives that others of its groups have",
                       fleet.ranks.ranks[static_cast<size_t>(it.rank_index)].rank, it.lost, it.expected);
  }
  return "";
}

Gate DroppedRecords(const GateInput& in) {
  const int64_t lost = SumOver(in.fleet, [](const SourceData& s) { return s.summary.drops.Lost(); });
  const int64_t kept = SumOver(in.fleet, [](const SourceData& s) {
    const SourceContext& c = s.context;
    return c.kernels + c.memcpys + c.memsets + c.graph_spans + c.api_rows;
  });
  if (lost + kept == 0) return NotApplicable("no record at all");
  const std::string detail =
      fmt::format("{} of {} records were lost ({:.3g} %)", lost, lost + kept, Percent(lost, lost + kept));
  std::string lacking = LackingText(in.fleet);
  if (const std::string message = LossMessage(in.fleet); !message.empty()) lacking += "; the profiler says, " + message;
  if (lost * 1000 <= lost + kept && lacking.empty()) return Good(detail);
  return Bad(detail + lacking,
             "see the counters of each rank in the quality view; a shorter capture, or larger profiler buffers");
}

// Then the order of the devices is the process's own.
bool AreDevicesOfOneProcess(const Fleet& fleet) {
  const SourceContext& first = fleet.members.front().source->context;
  return std::all_of(fleet.members.begin(), fleet.members.end(), [&](const FleetRank& member) {
    const SourceContext& c = member.source->context;
    return c.path == first.path && c.pid == first.pid && c.session == first.session && c.host == first.host;
  });
}

Gate RankIdentity(const GateInput& in) {
  const auto assumed = RanksWhere(
      in.fleet, [&](const FleetRank& m) { return in.fleet.ranks.ranks[m.index].rank_source == RankSource::kAssumed; });
  if (assumed.empty()) return Good("every rank is told by its trace");
  if (in.fleet.members.size() > 1 && AreDevicesOfOneProcess(in.fleet)) {
    return Good("the ranks are the devices of one process, in their order");
  }
  return Bad(fmt::format("rank {} assumed from the order of files, processes and devices", List(assumed)),
             "give --rank-map FILE, name the files after their ranks (rank3.json), or capture with torch.distributed "
             "initialised (Kineto) or RANK set (nsys)");
}

Gate DuplicateRank(const GateInput& in) {
  std::vector<std::string> refused;
  for (const RefusedSource& source : in.fleet.ranks.refused) {
    if (source.reason == DropReason::kDuplicateRank) {
      refused.push_back(fmt::format("{}: {}", in.fleet.run.sources[source.source].context.path, source.detail));
    }
  }
  if (refused.empty()) return Good("no rank is claimed twice");
  return Bad(fmt::format("{} sources refused: {}", refused.size(), List(refused)),
             "analyse one run at a time, choose a capture with --capture, or tell the ranks apart with --rank-map");
}

Gate HostIdentity(const GateInput& in) {
  if (in.fleet.match.host_conflict) {
    return Bad("two machines claim one host name; they were split by their clocks",
               "name the hosts in the rank map's host column, or give each agent its own --host");
  }
  const auto unknown = RanksWhere(in.fleet, [](const FleetRank& m) { return m.host.empty(); });
  if (unknown.size() == in.fleet.members.size()) return NotApplicable("no trace names its host");
  return Good("no two machines share a host name");
}

// A rank that alone claims more members may be wrong about them.
std::string Contradiction(const Fleet& fleet) {
  const std::vector<GroupContradiction> found = FindGroupContradictions(fleet.run, fleet.ranks);
  if (found.empty()) return "";
  return fmt::format("; but rank {} contradicts the others about the members of its group", found.front().rank);
}

Gate CompleteRanks(const GateInput& in) {
  const size_t present = in.fleet.ranks.ranks.size();
  const std::vector<int32_t> missing = RanksWithoutTrace(in.fleet);
  const std::vector<Communicator>& communicators = in.fleet.match.communicators;
  const bool known = in.fleet.ranks.world_size.has_value() ||
                     std::any_of(communicators.begin(), communicators.end(),
                                 [](const Communicator& communicator) { return !communicator.members.empty(); });
  const int32_t expected = std::max(in.fleet.options.expected_ranks, in.fleet.run.info.expected_ranks);
  if (missing.empty() && expected > static_cast<int32_t>(present)) {
    return Bad(fmt::format("{} of {} expected ranks are present", present, expected), "add the other ranks' traces");
  }
  if (!missing.empty()) {
    return Bad(fmt::format("no trace of rank {}{}", List(missing), Contradiction(in.fleet)),
               "add the missing ranks' traces: without them it cannot be said who makes whom wait");
  }
  for (const Communicator& communicator : communicators) {
    const size_t here = communicator.members.empty() ? present : communicator.members.size();
    if (std::cmp_less_equal(communicator.size, here)) continue;
    return Bad(fmt::format("group {} has {} members, and there are traces of {} ranks", communicator.id,
                           communicator.size, present),
               "add the other ranks' traces: without them it cannot be said who makes whom wait");
  }
  if (!known && expected < 0) return NotApplicable("no trace says how many ranks there are");
  return Good(fmt::format("all {} ranks are present", present));
}

Gate CommonWindowShared(const GateInput& in) {
  const CommonWindow& window = in.measures.window;
  if (in.fleet.members.size() < 2) return NotApplicable("one rank alone");
  if (window.kind == WindowKind::kNone) return NotApplicable("the ranks have nothing in what was asked for");
  const std::string detail = fmt::format("the ranks share {:.6g} ms of a median span of {:.6g} ms",
                                         static_cast<double>(window.intersection_ns) * 1e-6,
                                         static_cast<double>(window.median_span_ns) * 1e-6);
  if (window.LongEnough()) return Good(detail);
  return Bad(detail, "start and stop the capture on all ranks at the same step (schedule or cudaProfilerApi range)");
}

Gate Matching(const GateInput& in) {
  int64_t total = 0;
  for (const RankMeasures& rank : in.measures.ranks) total += rank.communication_ns;
  if (in.fleet.members.size() < 2) return NotApplicable("one rank alone: nothing to match");
  if (total == 0) return NotApplicable("no communication kernel");
  int64_t confident = 0;
  for (const FleetRank& member : in.fleet.members) confident += in.measures.joined.ranks[member.index].confident_ns;
  const std::string detail = fmt::format("{:.4g} % of communication time is matched with confidence",
                                         std::min(Percent(confident, total), 100.0));
  if (Percent(confident, total) >= 95) return Good(detail);
  if (2 * confident < total)
    return Bad(detail, "check that all files are of one run and one time: most in them does not belong together");
  return Bad(
      detail,
      "capture process groups (torch 2.4 or later, or NCCL 2.25 or later exported with --include-blobs=true) or, "
      "better, sequence numbers (torch 2.12 or later); and add missing ranks");
}

// More of the time may be waiting than is known to be: who makes whom wait is not told by it.
Gate WaitingTold(const GateInput& in) {
  constexpr double kMuch = 0.03;
  const std::optional<TimeShare> share = ComputeTimeShare(in.measures);
  if (in.fleet.members.size() < 2) return NotApplicable("one rank alone");
  if (!share) return NotApplicable("no device activity that all ranks have");
  if (in.fleet.options.time_ns) return NotApplicable("not asked of a stretch of time");
  const double in_kernel = in.waiting_kernel ? Share(in.waiting_kernel->excess_ns, in.measures.RankTime()) : 0;
  if (in_kernel >= kMuch && in_kernel > share->exposed_wait) {
    return Bad(fmt::format("kernel {:.60} looks like communication that is not known as such", in.waiting_kernel->name),
               "analyse the files with --families FILE and in it a line: communication, NAME");
  }
  const std::string detail =
      fmt::format("{:.3g} % of the time is communication of which it cannot be told whether the ranks wait",
                  100 * share->exposed_unresolved);
  if (share->exposed_unresolved < kMuch || share->exposed_unresolved <= share->exposed_wait) return Good(detail);
  return Bad(detail,
             "give the traces of all ranks, with roots, peers and process groups (torch 2.4 or later, or NCCL 2.25 or "
             "later exported with --include-blobs=true)");
}

// On both sides, everywhere.
// Records of a sound clock scatter by no more (clock_align/record_scatter.h).
constexpr int64_t kUsualRecordNs = 1'000;

bool IsBounded(const DomainClock& clock) {
  constexpr int64_t kBoundless = kNsPerS;
  return !clock.knots.empty() && std::all_of(clock.knots.begin(), clock.knots.end(), [](const ClockKnot& knot) {
    return knot.hi_ns - knot.lo_ns < kBoundless && knot.hi_ns >= knot.lo_ns;
  });
}

// The rank whose host's clock is known least against that of the first rank, in the middle of the common window.
struct CoarsestClock {
  int32_t rank = -1;
  int64_t uncertainty_ns = 0;
};

CoarsestClock FindCoarsestClock(const GateInput& in) {
  const CommonWindow& window = in.measures.window;
  const AlignedTime middle{window.start_ns + window.span_ns / 2};
  const FleetRank& first = in.fleet.members.front();
  CoarsestClock out;
  for (const FleetRank& member : in.fleet.members) {
    if (member.domain == first.domain) continue;
    const auto u = in.fleet.match.clock.ClockUncertainty(static_cast<int32_t>(first.index),
                                                         static_cast<int32_t>(member.index), middle);
    if (u && u->ns > out.uncertainty_ns) out = {member.rank, u->ns};
  }
  return out;
}

// Clocks that share small collectives are known to a few microseconds. Where one is known a hundred times worse, and
// it matters: waits are shorter than that.
bool HidesWaiting(const GateInput& in, const CoarsestClock& coarsest) {
  constexpr int64_t kCoarseNs = 100'000;
  constexpr double kMuch = 0.01;
  const std::optional<TimeShare> share = ComputeTimeShare(in.measures);
  return coarsest.uncertainty_ns >= kCoarseNs && share && share->exposed_unresolved >= kMuch &&
         2 * share->exposed_unresolved >= share->exposed_wait;
}

Gate Clock(const GateInput& in) {
  const size_t domains = in.fleet.Domains();
  if (in.fleet.members.size() < 2) return NotApplicable("one rank alone");
  if (domains == 1) return Good("all ranks share one clock");
  if (const size_t groups = in.fleet.Components(); groups > 1) {
    return Bad(
        fmt::format("{} groups of clocks share no usable collective: between them no arrival can be compared", groups),
        "capture at a time when collectives span the hosts, on all of them; and the ranks of one host in one "
        "session");
  }
  const ClockModel& clock = in.fleet.match.clock;
  const auto contradicts = RanksWhere(in.fleet, [&](const FleetRank& member) {
    const DomainClock& it = clock.ClockOf(DomainId{member.domain});
    const bool scatters = it.record_sd_ns > kUsualRecordNs;
    return !it.certified && (scatters || (it.method == ClockMethod::kBand && IsBounded(it)));
  });
  if (!contradicts.empty()) {
    return Bad(
        fmt::format("the clock of rank {} contradicts itself, or others in over 1 % of what they share",
                    List(contradicts)),
        "the times of some ranks are damaged, or a clock was set often: see --view clock, record those hosts anew");
  }
  const CoarsestClock coarsest = FindCoarsestClock(in);
  const double coarsest_us = static_cast<double>(coarsest.uncertainty_ns) * 1e-3;
  if (HidesWaiting(in, coarsest)) {
    return Bad(
        fmt::format("the clock of rank {} is known to +- {:.3g} us only, and waits that are shorter cannot be told",
                    coarsest.rank, coarsest_us),
        "capture the same steps on all hosts, with a small collective of all ranks in each step");
  }
  return Good(fmt::format("{} clocks are aligned to +- {:.3g} us", domains, coarsest_us));
}

Gate StepsFound(const GateInput& in) {
  const auto without = RanksWhere(in.fleet, [](const FleetRank& m) {
    return HasActivity(m.source->context) && std::none_of(m.source->steps.begin(), m.source->steps.end(),
                                                          [](const StepRow& row) { return row.step != kNoStep; });
  });
  if (NothingRan(in.fleet)) {
    return NotApplicable("nothing ran on a device: a step is measured by what it launched");
  }
  if (without.empty()) return Good("every rank has steps");
  const bool decodes = std::any_of(in.fleet.members.begin(), in.fleet.members.end(),
                                   [](const FleetRank& m) { return Serves(*m.source); });
  return Bad(fmt::format("no step on rank {}{}", List(without),
                         decodes ? "; its kernels serve a language model, but nothing repeats as decoding would" : ""),
             "call profiler.step() every iteration, or mark it with an NVTX range and give --step-range NAME");
}

Gate DecodePure(const GateInput& in) {
  std::map<std::string, int64_t> phases;
  for (const FleetRank& member : in.fleet.members) {
    for (const StepRow& row : member.source->steps) ++phases[row.phase];
  }
  if (phases["decode"] == 0) return NotApplicable("no decode step is marked");
  const int64_t other = phases["prefill"] + phases["mixed"];
  const std::string detail = fmt::format("{} decode steps, {} with prefill", phases["decode"], other);
  if (other == 0) return Good(detail);
  return Bad(detail, "start the capture after the last prefill, or select decode steps with --steps");
}

Gate CaptureLongEnough(const GateInput& in) {
  if (NothingRan(in.fleet)) return NotApplicable("nothing ran on a device");
  const auto shortest = RanksWhere(in.fleet, [](const FleetRank& m) {
    const SourceContext& context = m.source->context;
    const auto steps = std::count_if(m.source->steps.begin(), m.source->steps.end(),
                                     [](const StepRow& row) { return row.step != kNoStep; });
    return HasActivity(context) && steps < 20 && context.last_end_ns - context.first_start_ns < kNsPerS;
  });
  const auto idle = RanksWhere(in.fleet, [](const FleetRank& m) {
    const IntervalMeasure whole = MeasureWhole(*m.source);
    return whole.span_ns > 0 && 100 * whole.busy_ns() < whole.span_ns;
  });
  if (!idle.empty()) {
    return Bad(fmt::format("the device of rank {} is busy for less than 1 % of its capture", List(idle)),
               "capture while the job works: start after warm-up, under load");
  }
  if (shortest.empty()) return Good("every rank has 20 steps or a second");
  return Bad(fmt::format("under 20 steps and under a second on rank {}", List(shortest)),
             "capture at least 20 steady steps: tails and confidence intervals need them");
}

Gate NodeTraceOverhead(const GateInput& in) {
  const std::optional<double> share = NodeTraceShare(in.fleet);
  if (!share) return NotApplicable("no CUDA graph");
  if (*share == 0) return Good("graphs are traced as a whole");
  const std::string detail =
      fmt::format("tracing every node of graphs adds about {:.2g} % to the kernels' time", 100 * *share);
  if (*share <= kMuchNodeTracing) return Good(detail);
  return Bad(detail,
             "trust shares and order, not absolute times; take those from a capture with "
             "--cuda-graph-trace=graph");
}

Gate ProfilerOverhead(const GateInput& in) {
  const int64_t overhead = SumOver(in.fleet, [](const SourceData& s) { return s.context.overhead_ns; });
  const int64_t span = SumOver(in.fleet, [](const SourceData& s) {
    return HasActivity(s.context) ? s.context.last_end_ns - s.context.first_start_ns : 0;
  });
  if (overhead == 0 || span == 0) return NotApplicable("no overhead was recorded");
  const std::string detail = fmt::format("the profiler's own work takes {:.3g} % of the span", Percent(overhead, span));
  if (overhead <= span / 20) return Good(detail);
  return Bad(detail, "switch off stacks, shapes and memory profiling, warm the profiler up, and enlarge its buffers");
}

Gate ClassifierVersion(const GateInput& in) {
  const auto other = RanksWhere(
      in.fleet, [](const FleetRank& m) { return m.source->context.classifier_version != kClassifierVersion; });
  if (other.empty()) return Good(fmt::format("all ranks classified by version {}", kClassifierVersion));
  return Bad(fmt::format("rank {} was classified by another version than {}", List(other), kClassifierVersion),
             "use one version of the agent on all nodes and send the traces again");
}

struct NamedGate {
  std::string_view name;
  Gate (*check)(const GateInput&);
};

constexpr NamedGate kGates[] = {
    {"kernels_present", KernelsPresent},
    {"graphs_visible", GraphsVisible},
    {"files_whole", FilesWhole},
    {"dropped_records", DroppedRecords},
    {"rank_identity", RankIdentity},
    {"duplicate_rank", DuplicateRank},
    {"host_identity", HostIdentity},
    {"complete_ranks", CompleteRanks},
    {"common_window", CommonWindowShared},
    {"matching", Matching},
    {"waiting_told", WaitingTold},
    {"clock", Clock},
    {"steps_found", StepsFound},
    {"decode_pure", DecodePure},
    {"capture_long_enough", CaptureLongEnough},
    {"node_trace_overhead", NodeTraceOverhead},
    {"profiler_overhead", ProfilerOverhead},
    {"classifier_version", ClassifierVersion},
};

std::string Anchor(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

}  // namespace

const std::vector<std::string_view>& GateNames() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> result;
    for (const NamedGate& gate : kGates) result.push_back(gate.name);
    return result;
  }();
  return names;
}

std::vector<Gate> CheckGates(const Fleet& fleet, const FleetMeasures& measures, const std::vector<FileNote>& files,
                             const std::optional<WaitingKernel>& waiting_kernel) {
  const GateInput input{fleet, measures, files, waiting_kernel};
  std::vector<Gate> gates;
  for (const NamedGate& named : kGates) {
    Gate gate = named.check(input);
    gate.name = named.name;
    if (!gate.fix.empty()) gate.fix += fmt::format(" (docs/capture.md#{})", Anchor(gate.name));
    gates.push_back(std::move(gate));
  }
  return gates;
}

}  // namespace lockstep
