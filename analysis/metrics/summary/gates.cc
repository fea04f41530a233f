#include "analysis/metrics/summary/gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "analysis/base/rank_list.h"
#include "analysis/base/unit_text.h"
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

// "a, b and 12 more"
std::string List(const std::vector<std::string>& items) {
  constexpr size_t kMostBytes = 1'200;
  std::string text;
  size_t listed = 0;
  for (const std::string& item : items) {
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
      fmt::format("there is no kernel on {}{}", FoldedRanks(without), DiagnosticsOf(in.fleet, without)),
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
  const std::string detail = fmt::format("{} of {} launches are CUDA graphs whose kernels are not in the trace",
                                         CountText(opaque), CountText(launches));
  if (opaque * 100 <= launches) return Good(detail);
  return Bad(detail,
             "capture the nodes of graphs: nsys profile --cuda-graph-trace=node, or run eagerly for the capture");
}

// Of files none of which is damaged.
std::string ReadCompletely(const std::vector<FileNote>& files) {
  const auto skipped =
      std::count_if(files.begin(), files.end(), [](const FileNote& file) { return file.status == "skipped"; });
  const size_t used = files.size() - static_cast<size_t>(skipped);
  const std::string rest = skipped == 0 ? "" : fmt::format(", and {} skipped", skipped);
  return fmt::format("{} of {} files were read completely{}", used, files.size(), rest);
}

Gate FilesWhole(const GateInput& in) {
  std::vector<std::string> broken;
  for (const FileNote& file : in.files) {
    if (file.status == "partial" || file.status == "refused")
      broken.push_back(fmt::format("{} ({})", file.path, file.reason));
  }
  const auto open = RanksWhere(in.fleet, [](const FleetRank& m) { return !m.source->complete; });
  if (!broken.empty()) {
    return Bad(
        fmt::format("{} of {} files could not be used completely: {}", broken.size(), in.files.size(), List(broken)),
        "copy the file again or capture again; wait until the profiler has finished writing before you copy");
  }
  if (!open.empty()) {
    return Bad(fmt::format("the data of {} is still arriving", FoldedRanks(open)),
               "wait for its agent, or finish the run (lockstep runs --finish RUN)");
  }
  for (const FleetRank& member : in.fleet.members) {
    const auto cut = FindCutStep(*member.source);
    if (!cut) continue;
    return Bad(fmt::format("the capture of rank {} begins or ends inside step {}, which has {} of about {} kernels",
                           member.rank, cut->step, cut->kernels, cut->expected),
               "start and stop the capture between two steps, and call cudaDeviceSynchronize before you stop it");
  }
  return Good(ReadCompletely(in.files));
}

// The rank that lacks most of the collectives that its peers have; "" where none lacks many.
std::string LackingText(const Fleet& fleet) {
  if (const std::vector<int32_t>& silent = fleet.ranks.silent_ranks; !silent.empty()) {
    return fmt::format("; {} ran kernels, but {} no record of any collective", FoldedRanks(silent),
                       silent.size() == 1 ? "has" : "have");
  }
  for (const LostCollectives& it : fleet.match.lost) {
    if (!it.IsMuch()) break;
    return fmt::format("; rank {} has no record of {} of {} collectives that the other members of its groups have",
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
  if (lost + kept == 0) return NotApplicable("the traces contain no records");
  const std::string detail = lost == 0 ? fmt::format("no loss of the {} records is reported", CountText(kept))
                                       : fmt::format("{} of {} records were lost ({:.3g} %)", CountText(lost),
                                                     CountText(lost + kept), Percent(lost, lost + kept));
  std::string lacking = LackingText(in.fleet);
  if (const std::string message = LossMessage(in.fleet); !message.empty())
    lacking += "; the profiler reports a loss on " + message;
  if (lost * 1000 <= lost + kept && lacking.empty()) return Good(detail);
  return Bad(detail + lacking,
             "see the counters of each rank in --view quality; make the capture shorter or the buffers of the profiler "
             "larger");
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
  if (assumed.empty()) return Good("no rank number had to be assumed");
  if (in.fleet.members.size() > 1 && AreDevicesOfOneProcess(in.fleet)) {
    return Good("the ranks are the devices of one process, in the order of the devices");
  }
  return Bad(
      fmt::format("the traces do not name {}: the order of files, processes and devices decides", FoldedRanks(assumed)),
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
  return Bad(fmt::format("{} traces were refused: {}", refused.size(), List(refused)),
             "analyse one run at a time, select a capture with --capture, or assign the ranks with --rank-map");
}

Gate HostIdentity(const GateInput& in) {
  if (in.fleet.match.host_conflict) {
    return Bad("two machines have the same host name; they were separated by their clocks",
               "name the hosts in the rank map's host column, or give each agent its own --host");
  }
  const auto unknown = RanksWhere(in.fleet, [](const FleetRank& m) { return m.host.empty(); });
  if (unknown.size() == in.fleet.members.size()) return NotApplicable("no trace names its host");
  return Good("no two machines share a host name");
}

// A rank that alone states more members may be wrong about them.
std::string Contradiction(const Fleet& fleet) {
  const std::vector<GroupContradiction> found = FindGroupContradictions(fleet.run, fleet.ranks);
  if (found.empty()) return "";
  return fmt::format("; however, rank {} contradicts its peers about the members of their group", found.front().rank);
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
    return Bad(fmt::format("{} of {} expected ranks are present", present, expected),
               "add the traces of the other ranks");
  }
  if (!missing.empty()) {
    return Bad(fmt::format("there is no trace of {}{}", FoldedRanks(missing), Contradiction(in.fleet)),
               "add the traces of the missing ranks: who waits for them cannot be determined");
  }
  for (const Communicator& communicator : communicators) {
    const size_t here = communicator.members.empty() ? present : communicator.members.size();
    if (std::cmp_less_equal(communicator.size, here)) continue;
    return Bad(fmt::format("group {} has {} members, but there are traces of only {} ranks", communicator.id,
                           communicator.size, present),
               "add the traces of the other ranks: who waits for them cannot be determined");
  }
  if (!known && expected < 0) return NotApplicable("the traces do not say how many ranks the job has");
  return Good(fmt::format("all {} ranks are present", present));
}

Gate CommonWindowShared(const GateInput& in) {
  const CommonWindow& window = in.measures.window;
  if (in.fleet.members.size() < 2) return NotApplicable("there is only one rank");
  if (window.kind == WindowKind::kNone) return NotApplicable("the selection contains no activity of the ranks");
  const std::string detail = fmt::format("the ranks have {} in common; their median span is {}",
                                         TimeText(window.intersection_ns), TimeText(window.median_span_ns));
  if (window.LongEnough()) return Good(detail);
  return Bad(detail,
             "start and stop the capture at the same step on all ranks (profiler schedule, or cudaProfilerApi range)");
}

Gate Matching(const GateInput& in) {
  int64_t total = 0;
  for (const RankMeasures& rank : in.measures.ranks) total += rank.communication_ns;
  if (in.fleet.members.size() < 2) return NotApplicable("there is only one rank, and nothing to match");
  if (total == 0) return NotApplicable("the traces contain no communication kernels");
  int64_t confident = 0;
  for (const FleetRank& member : in.fleet.members) confident += in.measures.joined.ranks[member.index].confident_ns;
  const std::string detail =
      fmt::format("{:.4g} % of the communication time is matched across the ranks with confidence",
                  std::min(Percent(confident, total), 100.0));
  if (Percent(confident, total) >= 95) return Good(detail);
  if (2 * confident < total) {
    return Bad(detail,
               "most collectives do not match across the files: check that these are of one run and one time, record "
               "process groups (torch 2.4 or later), and add missing ranks");
  }
  return Bad(
      detail,
      "capture process groups (torch 2.4 or later, or NCCL 2.25 or later exported with --include-blobs=true) or, "
      "better, sequence numbers (torch 2.12 or later); and add missing ranks");
}

// More of the time may be waiting than is known to be: it may hide who waits for whom.
Gate WaitingTold(const GateInput& in) {
  constexpr double kMuch = 0.03;
  const std::optional<TimeShare> share = ComputeTimeShare(in.measures);
  if (in.fleet.members.size() < 2) return NotApplicable("there is only one rank");
  if (!share) return NotApplicable("the ranks have no device activity in common");
  if (in.fleet.options.time_ns) return NotApplicable("this is not checked under --time");
  if (in.waiting_kernel && in.waiting_kernel->worst_ratio >= kMuch) {
    return Bad(
        fmt::format("kernel {:.60} looks like communication, but lockstep does not know it", in.waiting_kernel->name),
        "if it communicates, pass --families FILE with the line: communication, NAME");
  }
  const std::string detail =
      fmt::format("{:.3g} % of the time is communication in which the wait cannot be separated from the transfer",
                  100 * share->exposed_unresolved);
  if (share->exposed_unresolved < kMuch || share->exposed_unresolved <= share->exposed_wait) return Good(detail);
  return Bad(detail,
             "give the traces of all ranks, with roots, peers and process groups (torch 2.4 or later, or NCCL 2.25 or "
             "later exported with --include-blobs=true)");
}

// Records of a sound clock scatter by no more (clock_align/record_scatter.h).
constexpr int64_t kUsualRecordNs = 1'000;

// On both sides, everywhere.
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
  if (in.fleet.members.size() < 2) return NotApplicable("there is only one rank");
  if (domains == 1) return Good("all ranks share one clock");
  if (const size_t groups = in.fleet.Components(); groups > 1) {
    return Bad(
        fmt::format("the clocks form {} groups that share no usable collective, so arrivals cannot be compared between "
                    "the groups",
                    groups),
        "capture while collectives span the hosts, on all hosts at the same time, and capture the ranks of one host in "
        "one session");
  }
  const ClockModel& clock = in.fleet.match.clock;
  const auto contradicts = RanksWhere(in.fleet, [&](const FleetRank& member) {
    const DomainClock& it = clock.ClockOf(DomainId{member.domain});
    const bool scatters = it.record_sd_ns > kUsualRecordNs;
    return !it.certified && (scatters || (it.method == ClockMethod::kBand && IsBounded(it)));
  });
  if (!contradicts.empty()) {
    return Bad(
        fmt::format("the timestamps of {} are inconsistent: in over 1 % of the collectives they contradict those of "
                    "other ranks, or their own",
                    FoldedRanks(contradicts)),
        "the timestamps are damaged, or a clock was set during the capture: see --view clock, and capture those hosts "
        "again");
  }
  const CoarsestClock coarsest = FindCoarsestClock(in);
  if (HidesWaiting(in, coarsest)) {
    return Bad(fmt::format("the clock of rank {} is known only to +- {}, and shorter waits cannot be determined",
                           coarsest.rank, TimeText(coarsest.uncertainty_ns)),
               "capture the same steps on all hosts, with a small collective of all ranks in each step");
  }
  return Good(fmt::format("{} clocks are aligned; the least certain, of rank {}, to +- {} against that of rank {}",
                          domains, coarsest.rank, TimeText(coarsest.uncertainty_ns), in.fleet.members.front().rank));
}

Gate StepsFound(const GateInput& in) {
  const auto without = RanksWhere(in.fleet, [](const FleetRank& m) {
    return HasActivity(m.source->context) && std::none_of(m.source->steps.begin(), m.source->steps.end(),
                                                          [](const StepRow& row) { return row.step != kNoStep; });
  });
  if (NothingRan(in.fleet)) {
    return NotApplicable("nothing ran on a device, and a step is measured by what it launched");
  }
  if (without.empty()) return Good("every rank has steps");
  const bool decodes = std::any_of(in.fleet.members.begin(), in.fleet.members.end(),
                                   [](const FleetRank& m) { return Serves(*m.source); });
  return Bad(fmt::format("no steps were found on {}{}", FoldedRanks(without),
                         decodes ? "; the kernels serve a language model, but nothing repeats as decoding would" : ""),
             "call profiler.step() in every iteration, or put an NVTX range around it and give --step-range NAME");
}

Gate DecodePure(const GateInput& in) {
  std::map<std::string, int64_t> phases;
  for (const FleetRank& member : in.fleet.members) {
    for (const StepRow& row : member.source->steps) ++phases[row.phase];
  }
  if (phases["decode"] == 0) return NotApplicable("no decode step is marked");
  const int64_t other = phases["prefill"] + phases["mixed"];
  const std::string detail = fmt::format("there are {} decode steps, and {} with prefill", phases["decode"], other);
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
    return Bad(fmt::format("the device is busy for less than 1 % of the capture on {}", FoldedRanks(idle)),
               "capture while the job works: start after warm-up, under load");
  }
  if (shortest.empty()) return Good("every rank has at least 20 steps or one second");
  return Bad(
      fmt::format("the capture has fewer than 20 steps and lasts less than one second on {}", FoldedRanks(shortest)),
      "capture at least 20 steady steps: tails and confidence intervals need them");
}

Gate NodeTraceOverhead(const GateInput& in) {
  const std::optional<double> share = NodeTraceShare(in.fleet);
  if (!share) return NotApplicable("the traces contain no CUDA graphs");
  if (*share == 0) return Good("CUDA graphs are traced as a whole");
  const std::string detail =
      fmt::format("tracing every node of CUDA graphs adds about {:.2g} % to the kernel time", 100 * *share);
  if (*share <= kMuchNodeTracing) return Good(detail);
  return Bad(detail,
             "rely on shares and order, not on absolute times; take those from a capture with "
             "--cuda-graph-trace=graph");
}

Gate ProfilerOverhead(const GateInput& in) {
  const int64_t overhead = SumOver(in.fleet, [](const SourceData& s) { return s.context.overhead_ns; });
  const int64_t span = SumOver(in.fleet, [](const SourceData& s) {
    return HasActivity(s.context) ? s.context.last_end_ns - s.context.first_start_ns : 0;
  });
  if (overhead == 0 || span == 0) return NotApplicable("the traces record no overhead");
  const std::string detail =
      fmt::format("the profiler's own work takes {:.3g} % of the captured time", Percent(overhead, span));
  if (overhead <= span / 20) return Good(detail);
  return Bad(detail, "switch off stacks, shapes and memory profiling, warm the profiler up, and enlarge its buffers");
}

Gate ClassifierVersion(const GateInput& in) {
  const auto other = RanksWhere(
      in.fleet, [](const FleetRank& m) { return m.source->context.classifier_version != kClassifierVersion; });
  if (other.empty())
    return Good(fmt::format("the kernels of all ranks are classified by version {}", kClassifierVersion));
  return Bad(fmt::format("the kernels of {} are classified by another version than {}", FoldedRanks(other),
                         kClassifierVersion),
             "use one version of the agent on all nodes, and send the traces again");
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
