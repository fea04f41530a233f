#include "bench/simulator/run/scenario.h"
#include "bench/simulator/engine/device_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/base/status_macros.h"
#include "bench/simulator/engine/simulation.h"
#include "bench/simulator/kineto/kineto_rows.h"
#include "bench/simulator/kineto/kineto_style.h"
#include "bench/simulator/nsys/nsys_target_info.h"
#include "bench/simulator/program/conditioned_program.h"

namespace lockstep {
namespace {

// 2026-02-01 00:00:00 UTC: when the ranks begin. Profilers were started 1.5 s before.
constexpr int64_t kStartNs = 1'769'904'000'000'000'000;
constexpr int64_t kProfilerLeadNs = 1'500'000'000;
// A trace that claims another's rank was taken this much later.
constexpr int64_t kDuplicateShiftNs = 137'000'000;

// The job's own random numbers and its decoy's differ.
CounterRng DecoyRng(const CounterRng& rng) { return CounterRng(rng.Bits({.purpose = Purpose::kDecoy})); }

// The two sides of a pair are one instance: a transfer.
CollectiveOp OpOfInstance(const Op& op) { return IsPairwise(op) ? CollectiveOp::kSendRecv : op.collective; }

int64_t LastArrival(const TrueInstance& instance) {
  int64_t last = INT64_MIN;
  for (const TrueMember& member : instance.members) last = std::max(last, member.start_ns);
  return last;
}

class Maker {
 public:
  Maker(Scenario& scenario, const ScenarioOptions& what, const ProgressFunction& progress)
      : s_(scenario), what_(what), progress_(progress) {}

  absl::Status Make() {
    LOCKSTEP_RETURN_IF_ERROR(Prepare());
    s_.recorded = Simulated(std::nullopt, true);
    s_.truth.start_ns = kStartNs;
    s_.truth.device_factors = DeviceFactors(s_.cluster, s_.options.noise, s_.rng);
    for (const RankTimeline& timeline : s_.recorded) {
      s_.truth.end_ns = std::max(s_.truth.end_ns, timeline.steps.back().end_ns);
    }
    TakeInstances();
    const StepsOfRanks steps = StepsOf(s_.recorded);
    s_.clocks = std::make_unique<ClockField>(s_.options, s_.cluster, s_.rng, s_.truth.start_ns, s_.truth.end_ns);
    for (int32_t rank = 0; rank < s_.cluster.world(); ++rank) Record(rank);
    TakeCauses(steps);
    OrderInstances();
    NameUndecidable();
    return absl::OkStatus();
  }

  absl::Status Prepare() {
    const EarlyDefects early = EarlyDefectsOf(s_.options.defects);
    FileDefects& files = s_.options.files;  // also those that were set without a defect's name
    files.no_metadata |= early.files.no_metadata;
    files.elided_groups |= early.files.elided_groups;
    files.same_hostname |= early.files.same_hostname;
    files.opaque_graphs |= early.files.opaque_graphs;
    if (files.no_metadata) s_.options.ids = IdLevel::kNames;
    s_.cluster = MakeCluster(s_.options, s_.rng);
    s_.plain_program = MakeProgram(s_.options);
    if (early.decoy) {
      const int32_t world = s_.cluster.world();
      s_.cluster = WithDecoy(s_.cluster, MakeCluster(s_.options, DecoyRng(s_.rng)));
      s_.plain_program = DoubledProgram(std::move(s_.plain_program), world);
      decoy_from_ = world;
    }
    std::vector<Spec> causes = s_.options.causes;
    causes.insert(causes.end(), early.causes.begin(), early.causes.end());
    LOCKSTEP_ASSIGN_OR_RETURN(s_.causes, PlaceCauses(causes, s_.cluster, s_.rng));
    LOCKSTEP_RETURN_IF_ERROR(CheckChanges());
    s_.program = AnyChangesProgram(s_.causes) ? Program(std::nullopt) : std::move(s_.plain_program);
    LOCKSTEP_ASSIGN_OR_RETURN(s_.defects, PlanDefects(s_.options.defects, s_.cluster, s_.rng));
    s_.effects = Effects(std::nullopt);
    s_.run = {.options = &s_.options,
              .cluster = &s_.cluster,
              .program = s_.program.get(),
              .effects = s_.effects.get(),
              .rng = s_.rng,
              .session_start_ns = kStartNs - kProfilerLeadNs};
    return absl::OkStatus();
  }

 private:
  // Prompts stand between decode steps only.
  [[nodiscard]] absl::Status CheckChanges() const {
    const bool decodes = s_.options.program == ProgramKind::kDecode || s_.options.program == ProgramKind::kBatching;
    for (const Cause& cause : s_.causes) {
      if (cause.kind == InjectedKind::kPrefillMix && !decodes) {
        return absl::InvalidArgumentError("--cause prefill_mix needs --program decode or batching");
      }
    }
    return absl::OkStatus();
  }

  [[nodiscard]] std::unique_ptr<StepProgram> Program(std::optional<size_t> without) const {
    const PlainProgram plain{.options = &s_.options, .program = s_.plain_program.get(), .world = s_.cluster.world()};
    return std::make_unique<ConditionedProgram>(plain, s_.causes, without);
  }

  [[nodiscard]] std::unique_ptr<CauseEffects> Effects(std::optional<size_t> without) const {
    auto effects = std::make_unique<CauseEffects>(s_.causes, without, s_.cluster.world(), s_.rng, &s_.cluster,
                                                  s_.program.get(), s_.options.steps);
    if (s_.options.noise.length_sigma > 0) effects->VaryLengths(s_.options.noise.length_sigma, s_.cluster);
    return effects;
  }

  [[nodiscard]] std::vector<RankTimeline> Simulated(std::optional<size_t> without, bool keep) const {
    const std::unique_ptr<CauseEffects> effects = Effects(without);
    const bool changed = without && ChangesProgram(s_.causes[*without].kind);
    const std::unique_ptr<StepProgram> other = changed ? Program(without) : nullptr;
    SimulationInput input{.cluster = &s_.cluster,
                          .program = changed ? other.get() : s_.program.get(),
                          .effects = effects.get(),
                          .rng = s_.rng,
                          .noise = s_.options.noise,
                          .steps = s_.options.steps,
                          .start_ns = kStartNs,
                          .keep_records = keep};
    if (progress_) {
      input.progress = [&](int32_t step) { progress_("simulating", static_cast<double>(step + 1) / s_.options.steps); };
    }
    return Simulate(input);
  }

  // The n-th kernels of all ranks at one meeting are one instance.
  void TakeInstances() {
    std::vector<std::vector<int32_t>> of_meeting(s_.cluster.meetings);
    s_.instance_of.resize(s_.recorded.size());
    std::vector<size_t> next(s_.cluster.meetings);
    for (int32_t rank = 0; rank < s_.cluster.world(); ++rank) {
      const std::vector<Activity>& activities = s_.recorded[static_cast<size_t>(rank)].activities;
      std::vector<int32_t>& instance_of = s_.instance_of[static_cast<size_t>(rank)];
      instance_of.assign(activities.size(), -1);
      std::fill(next.begin(), next.end(), 0);
      for (size_t i = 0; i < activities.size(); ++i) {
        const Activity& activity = activities[i];
        const Op& op = s_.program->StepOf(activity.step, rank).ops[activity.op];
        if (op.kind != OpKind::kCollective) continue;
        const uint32_t meeting = MeetingOf(s_.cluster, op, rank);
        const size_t number = next[meeting]++;
        if (number == of_meeting[meeting].size()) of_meeting[meeting].push_back(Open(rank, activity, op));
        instance_of[i] = of_meeting[meeting][number];
        s_.instances[static_cast<size_t>(instance_of[i])].members.push_back(
            {.rank = rank, .start_ns = activity.start_ns, .end_ns = activity.end_ns});
      }
    }
  }

  int32_t Open(int32_t rank, const Activity& activity, const Op& op) {
    s_.instances.push_back({.communicator = static_cast<uint32_t>(s_.cluster.CommunicatorOf(rank, op.group)),
                            .op = OpOfInstance(op),
                            .bytes = op.bytes,
                            .step = activity.step});
    return static_cast<int32_t>(s_.instances.size()) - 1;
  }

  // The steps that all traces hold; all steps where that leaves less than two.
  [[nodiscard]] StepRange CapturedSteps() const {
    StepRange captured{0, static_cast<size_t>(s_.options.steps) - 1};
    const StepRange all = captured;
    for (size_t rank = 0; rank < s_.recorded.size(); ++rank) {
      if (s_.truth.ranks[rank].missing) continue;
      const std::vector<StepSpan>& steps = s_.recorded[rank].steps;
      const auto held = [](const StepSpan& span) { return span.end_ns != 0; };
      const auto first = std::find_if(steps.begin(), steps.end(), held);
      const auto last = std::find_if(steps.rbegin(), steps.rend(), held);
      if (first == steps.end()) return all;
      captured.first = std::max(captured.first, static_cast<size_t>(first - steps.begin()));
      captured.last = std::min(captured.last, steps.size() - 1 - static_cast<size_t>(last - steps.rbegin()));
    }
    return captured.first < captured.last ? captured : all;
  }

  // After Record. `steps`: of the run before clocks and defects.
  void TakeCauses(const StepsOfRanks& steps) {
    const StepRange captured = CapturedSteps();
    s_.truth.step_ns = MeanStepNs(steps, captured);
    for (size_t i = 0; i < s_.causes.size(); ++i) {
      TruthOfCause known{.cause = s_.causes[i], .category = std::string(CategoryOf(s_.causes[i].kind))};
      known.origin_ranks = known.cause.ranks;
      known.step_ns_with = s_.truth.step_ns;
      if (what_.step_times_without) known.step_ns_without = MeanStepNs(StepsOf(Simulated(i, false)), captured);
      if (HitsKernels(known.cause.kind)) {
        for (const uint32_t kernel : KernelsHit(known.cause, *s_.program, s_.rng)) {
          known.kernels.push_back(s_.program->kernels()[kernel].name);
        }
      }
      s_.truth.causes.push_back(std::move(known));
    }
  }

  // Clocks and defects; afterwards the truth knows what the trace holds.
  void Record(int32_t rank) {
    const auto at = static_cast<size_t>(rank);
    RankTimeline& timeline = s_.recorded[at];
    const RankTimeline truth = timeline;
    s_.clocks->Record(rank, *s_.program, timeline);
    const RankPlace& place = s_.cluster.ranks[at];
    const bool by_host = FormOfHost(s_.options, place.host) == TraceForm::kNsys;
    const CaptureOfRank capture{.rank = rank,
                                .session = by_host ? -2 - place.host : rank,
                                .zero_ns = ZeroOfFile(s_.run, rank),
                                .run_ns = s_.truth.end_ns - s_.truth.start_ns};
    if (s_.defects.duplicate_rank == rank) MakeDuplicate(timeline);
    s_.fates.push_back(ApplyDefects(s_.defects, capture, s_.rng, s_.cluster.world(), timeline));
    TakeWindow(rank, truth);
  }

  void MakeDuplicate(const RankTimeline& timeline) {
    s_.duplicate = timeline;
    for (Activity& activity : s_.duplicate->activities) {
      activity.call_start_ns += kDuplicateShiftNs;
      activity.call_end_ns += kDuplicateShiftNs;
      if (activity.end_ns == 0) continue;
      activity.start_ns += kDuplicateShiftNs;
      activity.end_ns += kDuplicateShiftNs;
    }
    for (StepSpan& span : s_.duplicate->steps) {
      span.start_ns += kDuplicateShiftNs;
      span.end_ns += kDuplicateShiftNs;
    }
  }

  // An opaque graph shows none of its kernels.
  [[nodiscard]] bool IsHidden(int32_t rank, const Activity& activity) const {
    if (!s_.options.files.opaque_graphs) return false;
    const int32_t host = s_.cluster.ranks[static_cast<size_t>(rank)].host;
    return FormOfHost(s_.options, host) == TraceForm::kNsys &&
           s_.program->StepOf(activity.step, rank).ops[activity.op].in_graph;
  }

  void TakeWindow(int32_t rank, const RankTimeline& truth) {
    const auto at = static_cast<size_t>(rank);
    TruthOfRank known;
    known.missing = s_.defects.missing_rank == rank;
    for (size_t i = 0; i < truth.activities.size(); ++i) {
      const Activity& activity = truth.activities[i];
      if (activity.end_ns == 0) continue;
      const bool kept = s_.fates[at][i] == RecordFate::kKept;
      known.lost += kept ? 0 : 1;
      if (const int32_t instance = s_.instance_of[at][i]; instance >= 0) {
        SetRecorded(instance, rank, kept && !known.missing && !IsHidden(rank, activity));
      }
      if (!kept) continue;
      known.first_ns = known.first_ns == 0 ? activity.start_ns : std::min(known.first_ns, activity.start_ns);
      known.last_ns = std::max(known.last_ns, activity.end_ns);
    }
    s_.truth.ranks.push_back(std::move(known));
  }

  void SetRecorded(int32_t instance, int32_t rank, bool recorded) {
    std::vector<TrueMember>& members = s_.instances[static_cast<size_t>(instance)].members;
    const auto member = std::lower_bound(members.begin(), members.end(), rank,
                                         [](const TrueMember& m, int32_t r) { return m.rank < r; });
    member->recorded = recorded;
  }

  // By communicator, then by last arrival; the pairs of a pipeline interleave.
  void OrderInstances() {
    std::vector<std::pair<int64_t, int32_t>> order;
    for (size_t i = 0; i < s_.instances.size(); ++i) {
      order.emplace_back(LastArrival(s_.instances[i]), static_cast<int32_t>(i));
    }
    std::sort(order.begin(), order.end(), [this](const auto& a, const auto& b) {
      const uint32_t left = s_.instances[static_cast<size_t>(a.second)].communicator;
      const uint32_t right = s_.instances[static_cast<size_t>(b.second)].communicator;
      return std::tie(left, a.first, a.second) < std::tie(right, b.first, b.second);
    });
    std::vector<TrueInstance> sorted;
    std::vector<int32_t> place(order.size());
    sorted.reserve(order.size());
    for (const auto& [time, old] : order) {
      TrueInstance& instance = s_.instances[static_cast<size_t>(old)];
      const bool follows = !sorted.empty() && sorted.back().communicator == instance.communicator;
      instance.index = follows ? sorted.back().index + 1 : 0;
      place[static_cast<size_t>(old)] = static_cast<int32_t>(sorted.size());
      sorted.push_back(std::move(instance));
    }
    s_.instances = std::move(sorted);
    for (std::vector<int32_t>& of_rank : s_.instance_of) {
      for (int32_t& instance : of_rank) instance = instance < 0 ? -1 : place[static_cast<size_t>(instance)];
    }
  }

  void NameUndecidable() {
    auto& list = s_.truth.undecidable;
    if (decoy_from_ > 0) {
      list.push_back({.what = fmt::format("clocks of ranks 0 to {} against ranks {} to {}", decoy_from_ - 1,
                                          decoy_from_, s_.cluster.world() - 1),
                      .why = "the two jobs share no collective"});
      if (s_.options.form != TraceForm::kKineto && s_.options.ids != IdLevel::kNames) {
        list.push_back({.what = "which job a process of an nsys trace belongs to",
                        .why = "both jobs' communicators claim the same ranks"});
      }
    }
    s_.truth.opaque_graphs =
        s_.options.files.opaque_graphs && s_.options.graphs && s_.options.form != TraceForm::kKineto;
    s_.truth.prompts_among_decodes = s_.options.program == ProgramKind::kBatching;
    if (s_.truth.opaque_graphs) {
      list.push_back({.what = "collectives inside graphs on hosts with nsys traces",
                      .why = "a graph launch is recorded as one span"});
    }
    if (s_.options.files.same_hostname && s_.cluster.hosts > 1) {
      list.push_back({.what = "which of two machines a rank of host node000 ran on", .why = "both bear that name"});
    }
    if (s_.defects.duplicate_rank) {
      list.push_back({.what = fmt::format("which trace is that of rank {}", *s_.defects.duplicate_rank),
                      .why = "two traces claim the rank"});
    }
    if (s_.options.ids != IdLevel::kNames) return;
    if (s_.defects.missing_rank && s_.options.form != TraceForm::kKineto) {
      list.push_back({.what = "the global ranks of the processes of nsys traces",
                      .why = "kernel names only: ranks follow the order of processes, and one is missing"});
    }
    NameEqualLanes();
  }

  // With names alone two communicators of one rank can be told apart by their kernels, or by their members' company;
  // where one rank has two of equal members, which of the two a collective belonged to leaves no trace.
  void NameEqualLanes() {
    std::map<std::vector<int32_t>, std::vector<std::string>> by_members;
    std::vector<bool> used(s_.cluster.communicators.size());
    for (const TrueInstance& instance : s_.instances) used[instance.communicator] = true;
    for (size_t i = 0; i < used.size(); ++i) {
      const RankGroup& group = s_.cluster.communicators[i];
      if (used[i]) by_members[group.members].push_back(group.name);
    }
    for (const auto& [members, names] : by_members) {
      if (names.size() < 2) continue;
      s_.truth.undecidable.push_back(
          {.what = fmt::format("which of the groups {} a collective belonged to", fmt::join(names, ", ")),
           .why = "kernel names only, and the groups have the same members"});
    }
  }

  Scenario& s_;
  ScenarioOptions what_;
  ProgressFunction progress_;
  int32_t decoy_from_ = 0;
};

}  // namespace

Scenario::Scenario(const SimulatorOptions& given) : options(given), rng(given.seed) {}

int64_t ZeroOfFile(const RunDescription& run, int32_t rank) {
  const int32_t host = run.cluster->ranks[static_cast<size_t>(rank)].host;
  if (FormOfHost(*run.options, host) == TraceForm::kNsys) return SessionStartOf(run, host);
  return StyleOf(*run.options).whole_us ? 0 : KinetoBaseNs(run.session_start_ns);
}

absl::Status CheckPlaces(const SimulatorOptions& options) {
  Scenario scenario(options);
  return Maker(scenario, {}, {}).Prepare();
}

absl::StatusOr<std::unique_ptr<Scenario>> MakeScenario(const SimulatorOptions& options, const ScenarioOptions& what,
                                                       const ProgressFunction& progress) {
  auto scenario = std::make_unique<Scenario>(options);
  LOCKSTEP_RETURN_IF_ERROR(Maker(*scenario, what, progress).Make());
  return scenario;
}

}  // namespace lockstep
