#include "analysis/compare/rows/comparison.h"

namespace lockstep::report {
namespace {

constexpr std::string_view kOfVerdict =
    "slower or faster: the interval excludes no change. same: a change, if any, is too small to matter or to be found. "
    "unclear: the data do not say. not_enough_steps: fewer than 8 independent steps in a run.";

}  // namespace

const Record& ComparedRunHead::Fields() {
  using R = ComparedRunHead;
  static const Record record{
      "compared_run",
      "One run of a side, with the context that its numbers come from.",
      {
          F<&R::name>("name", "Name of the run."),
          F<&R::ranks>("ranks", "Number of ranks with steps."),
          F<&R::start_unix_ns>("start_unix_ns", "When the run began, since 1970. Null where it is not known."),
          F<&R::steps>("steps", "Number of steps that are compared, without the warm-up."),
          F<&R::warm_up_steps>("warm_up_steps", "Number of leading steps that were left out as warm-up."),
          F<&R::step_time_ns>("step_time_ns",
                              "Typical step time of these steps, as the metric step_time has it. Null without steps."),
          F<&R::failed_gates>("failed_gates", "Quality gates that the run fails."),
          F<&R::context>("context", "What the run was: versions, GPU models, and what --context added."),
      }};
  return record;
}

const Record& ContextDifference::Fields() {
  using R = ContextDifference;
  static const Record record{
      "context_difference",
      "A key of the context in which the sides differ.",
      {
          F<&R::key>("key", "Name of the key."),
          F<&R::base>("base", "Value of the base side, or its values separated by commas. Null where it has none."),
          F<&R::fresh>("new", "Value of the new side, or its values separated by commas. Null where it has none."),
          F<&R::blocks>("blocks", "Whether it forbids a comparison rank by rank."),
      }};
  return record;
}

const Record& Comparable::Fields() {
  using R = Comparable;
  static const Record record{
      "",
      "Whether the sides can be compared at all, and how far.",
      {
          F<&R::verdict>("verdict", "partly: not rank by rank, or not kernel by kernel.")
              .OneOf({"yes", "partly", "no"}),
          F<&R::reasons>("reasons", "What forbids a comparison or a part of it."),
          F<&R::matched_time_ratio>("matched_time_ratio",
                                    "Share of the kernel time that was matched between the sides, on the side where it "
                                    "is smaller. Null without kernels."),
          F<&R::differences>("differences", "Keys of the context in which the sides differ."),
      }};
  return record;
}

const Record& Noise::Fields() {
  using R = Noise;
  static const Record record{
      "",
      "How much two runs of the same code differ: what a change must exceed to be one.",
      {
          F<&R::source>("source",
                        "repeats: the runs of this comparison. history: earlier runs of the same context. default: "
                        "2 %, because nothing better is known. none: there is nothing to compare.")
              .OneOf({"repeats", "history", "default", "none"}),
          F<&R::ratio>("ratio",
                       "Two runs of the same code differ by at most this share in 95 of 100 cases. Null with none."),
          F<&R::runs>("runs", "Number of runs that it comes from."),
      }};
  return record;
}

const Record& ComparisonHeadline::Fields() {
  using R = ComparisonHeadline;
  static const Record record{"",
                             "The answer in words.",
                             {
                                 F<&R::verdict>("verdict", kOfVerdict)
                                     .OneOf({kSlowerWord, kFasterWord, kSameWord, kUnclearWord, kNotEnoughWord}),
                                 F<&R::sentence>("sentence", "Slower or faster, and by how much."),
                                 F<&R::sureness>("sureness", "How sure that is, and what would make it surer."),
                                 F<&R::details>("details", "The largest entries of the ledger, in words."),
                             }};
  return record;
}

const Record& MetricChange::Fields() {
  using R = MetricChange;
  static const Record record{
      "metric_change",
      "One metric of the job on both sides, of the steps that are compared.",
      {
          F<&R::metric>("metric", "Name of the metric, as gates use it."),
          F<&R::unit>("unit", "Unit of base, new and change.").OneOf({"ns", "tokens/s", "samples/s"}),
          F<&R::base>("base", "Value of the base side; the mean of its runs. Null where it is not known."),
          F<&R::fresh>("new", "Value of the new side. Null where it is not known."),
          F<&R::change>("change", "new - base. Null where one of them is."),
          F<&R::change_ratio>("change_ratio", "change / base. Null where base is zero or not known."),
          F<&R::interval>("interval", "95 % interval of the change. Null where it is not known."),
          F<&R::interval_ratio>("interval_ratio", "95 % interval of change_ratio. Null where it is not known."),
          F<&R::excluded_ratio>("excluded_ratio",
                                "A change of this share or more is excluded. Null where there is no interval."),
          F<&R::verdict>("verdict", kOfVerdict)
              .OneOf({kSlowerWord, kFasterWord, kSameWord, kUnclearWord, kNotEnoughWord}),
          F<&R::n_eff>("n_eff",
                       "Number of independent steps, of the run with the fewest: correlated steps count less. Null "
                       "without steps."),
          F<&R::steps_needed>("steps_needed",
                              "Number of steps a run that would be enough for a verdict. Null where there are enough."),
          F<&R::repeats_needed>("repeats_needed",
                                "Number of further repeats a side that would resolve a change of 1 %. Null where that "
                                "cannot be planned."),
      }};
  return record;
}

const Record& LedgerEntry::Fields() {
  using R = LedgerEntry;
  static const Record record{
      "ledger_entry",
      "One part of the mean step. The entries sum to the mean step time of their side, and their changes to its "
      "change, "
      "exactly.",
      {
          F<&R::part>("part", "Name of the part."),
          F<&R::kind>("kind", "Whether it is a rank's own work, waiting, moving data, or idle time.")
              .OneOf({"work", "wait", "transfer", "unresolved", "idle", "spread"}),
          F<&R::label>("label", "The part in words."),
          F<&R::rank>("rank", "Of waiting for one rank: that rank. Null otherwise."),
          F<&R::base_ns_per_step>("base_ns_per_step", "Time a step on the base side."),
          F<&R::new_ns_per_step>("new_ns_per_step", "Time a step on the new side."),
          F<&R::change_ns_per_step>("change_ns_per_step", "new_ns_per_step - base_ns_per_step."),
          F<&R::interval>("interval", "95 % interval of the change. Null where the part is not known step by step."),
      }};
  return record;
}

const Record& KernelSide::Fields() {
  using R = KernelSide;
  static const Record record{
      "kernel_side",
      "What these kernels cost on one side.",
      {
          F<&R::names>("names", "Names of the kernels; several are summed."),
          F<&R::ns_per_step>("ns_per_step", "Time a step on the mean rank."),
          F<&R::instances_per_step>("instances_per_step", "Instances a step on the mean rank."),
          F<&R::p50_ns>("p50_ns", "Median duration; of several runs the largest. Null for several names, or few."),
          F<&R::p99_ns>("p99_ns", "p99 of the durations, likewise. Null for several names, or few instances."),
          F<&R::estimated>(
              "estimated",
              "Whether ns_per_step is estimated from the totals of the capture, because the kernels are not "
              "among the 32 largest names of every rank, whose time is known step by step."),
      }};
  return record;
}

const Record& KernelChange::Fields() {
  using R = KernelChange;
  static const Record record{
      "kernel_change",
      "Kernels that are the same on both sides, as far as that is known.",
      {
          F<&R::base>("base", "On the base side. Null where they were added."),
          F<&R::fresh>("new", "On the new side. Null where they were removed."),
          F<&R::match>("match",
                       "same: one and one. variant_changed: another variant of the same auto-tuned kernel. group: "
                       "several and several. fused: several became one. split: one became several.")
              .OneOf({"same", "variant_changed", "group", "fused", "split", "added", "removed"}),
          F<&R::matched_by>("matched_by", "What they have in common: the rule that matched them.")
              .OneOf({"nothing", "map", "exact", "demangled", "base", "words", "range", "family", "position"}),
          F<&R::certainty>("certainty", "How sure the match is.").OneOf({"certain", "likely", "guess"}),
          F<&R::explanation>("explanation", "Why they were matched, or why not."),
          F<&R::category>("category", "Category of the kernels. Null where they differ or it is not known."),
          F<&R::family>("family", "Family of the kernels. Null where they differ or it is not known."),
          F<&R::role>("role", "Part of the model that they belong to."),
          F<&R::change_ns_per_step>("change_ns_per_step", "Change of the time a step."),
          F<&R::change_ratio>("change_ratio", "Its share of the time on the base side. Null where that is zero."),
          F<&R::interval>("interval",
                          "95 % interval of the change a step. Null where the time is not known step by step."),
          F<&R::verdict>("verdict",
                         "Whether the change is real: of all kernels called slower or faster at most one in 20 is "
                         "wrong. unclear also where the time is not known step by step.")
              .OneOf({kSlowerWord, kFasterWord, kSameWord, kUnclearWord, kNotEnoughWord}),
      }};
  return record;
}

const Record& FamilyChange::Fields() {
  using R = FamilyChange;
  static const Record record{
      "family_change",
      "Kernels of one family, on the mean rank.",
      {
          F<&R::family>("family", "Name of the family."),
          F<&R::base_ns_per_step>("base_ns_per_step", "Time a step on the base side."),
          F<&R::new_ns_per_step>("new_ns_per_step", "Time a step on the new side."),
          F<&R::change_ns_per_step>("change_ns_per_step", "new_ns_per_step - base_ns_per_step."),
          F<&R::change_ratio>("change_ratio", "Its share of the time on the base side. Null where that is zero."),
      }};
  return record;
}

const Record& RoleChange::Fields() {
  using R = RoleChange;
  static const Record record{
      "role_change",
      "Kernels that belong to one part of a model, on the mean rank.",
      {
          F<&R::role>("role",
                      "Part of the model. feed_forward has all matrix products outside attention. The time of "
                      "communication includes its waiting."),
          F<&R::base_ns_per_step>("base_ns_per_step", "Kernel time a step on the base side."),
          F<&R::new_ns_per_step>("new_ns_per_step", "Kernel time a step on the new side."),
          F<&R::change_ns_per_step>("change_ns_per_step", "new_ns_per_step - base_ns_per_step."),
          F<&R::change_ratio>("change_ratio", "Its share of the time on the base side. Null where that is zero."),
          F<&R::base_ns_per_token>(
              "base_ns_per_token",
              "Kernel time of the mean rank for each token of a step, on the base side. Null where "
              "the context of a run lacks tokens_per_step."),
          F<&R::new_ns_per_token>("new_ns_per_token", "The same on the new side."),
          F<&R::per_token_change_ratio>(
              "per_token_change_ratio",
              "Change of the time for each token, as a share of the base side's. Null where a "
              "side has none."),
      }};
  return record;
}

const Record& CollectiveSide::Fields() {
  using R = CollectiveSide;
  static const Record record{
      "collective_side",
      "These collectives on one side; the mean of its runs.",
      {
          F<&R::instances_per_step>("instances_per_step", "Collectives a step, over all groups."),
          F<&R::wait_p50_ns>("wait_p50_ns", "Median of the waiting times. Null where arrivals cannot be compared."),
          F<&R::wait_ns_per_step>("wait_ns_per_step", "Waiting a step, over all ranks, hidden or not."),
          F<&R::transfer_p50_ns>("transfer_p50_ns", "Median of the transfer times. Null where none is known."),
          F<&R::transfer_p99_ns>("transfer_p99_ns", "p99 of the transfer times. Null for fewer than 100."),
          F<&R::bus_bandwidth_gbps>("bus_bandwidth_gbps", "Median bus bandwidth. Null where none is known."),
      }};
  return record;
}

const Record& CollectiveChange::Fields() {
  using R = CollectiveChange;
  static const Record record{
      "collective_change",
      "Collectives of one operation, type, size and kind of group.",
      {
          F<&R::op>("op", "Operation. Null where it is not known."),
          F<&R::dtype>("dtype", "Data type. Null where it is not known."),
          F<&R::bytes>("bytes", "Size of the message. Null where it is not known."),
          F<&R::members>("members", "Number of ranks in the group."),
          F<&R::desc>("desc", "Description of the groups. Null where they have none."),
          F<&R::base>("base", "On the base side. Null where it has none."),
          F<&R::fresh>("new", "On the new side. Null where it has none."),
          F<&R::transfer_change_ratio>("transfer_change_ratio",
                                       "Change of the median transfer time, as a share of the base side's. Null where "
                                       "a side has none."),
      }};
  return record;
}

const Record& LateSide::Fields() {
  using R = LateSide;
  static const Record record{
      "late_side",
      "How much somebody made the others wait on one side; the mean of its runs.",
      {
          F<&R::share_of_wait_ratio>("share_of_wait_ratio", "Share of the waiting that it caused."),
          F<&R::confidence>("confidence", "How sure that is: 0.95 and more is certain."),
          F<&R::cause>("cause", "Why it was late. Null where that is not known, or differs between the runs."),
          F<&R::wait_ns_per_step>("wait_ns_per_step",
                                  "Exposed waiting a step of the mean rank that is attributed to it."),
      }};
  return record;
}

const Record& LateChange::Fields() {
  using R = LateChange;
  static const Record record{
      "late_change",
      "Somebody who makes the others wait on one side or on both.",
      {
          F<&R::scope>("scope", "What it is: rank, host, gpu, rail, stage, communicator."),
          F<&R::id>("id", "Which one."),
          F<&R::host>("host", "Host name. Null where it is not known."),
          F<&R::base>("base", "On the base side. Null where it is not named."),
          F<&R::fresh>("new", "On the new side. Null where it is not named."),
          F<&R::change>("change", "Whether it appeared, is gone, or stays.").OneOf({"appeared", "gone", "stays"}),
      }};
  return record;
}

const Record& RankSide::Fields() {
  using R = RankSide;
  static const Record record{
      "rank_side",
      "One rank on one side.",
      {
          F<&R::rank>("rank", "Global rank."),
          F<&R::host>("host", "Host name. Null where it is not known."),
          F<&R::gpu_uuid>("gpu_uuid", "UUID of the GPU. Null where the trace lacks it."),
          F<&R::compute_ns_per_step>("compute_ns_per_step",
                                     "Time a step in which it computes, over all steps, those of the warm-up too."),
          F<&R::exposed_wait_ns_per_step>("exposed_wait_ns_per_step", "Exposed waiting a step."),
          F<&R::idle_ns_per_step>("idle_ns_per_step", "Idle time a step."),
          F<&R::caused_wait_ns_per_step>("caused_wait_ns_per_step",
                                         "Waiting of the others a step that was certainly for this rank, summed over "
                                         "all that waited. Null where arrivals cannot be compared."),
      }};
  return record;
}

const Record& RankChange::Fields() {
  using R = RankChange;
  static const Record record{
      "rank_change",
      "A rank of the base side and the one of the new side that it is compared with.",
      {
          F<&R::base>("base", "The rank of the base side."),
          F<&R::fresh>("new", "The rank of the new side."),
          F<&R::compute_change_ratio>("compute_change_ratio", "Change of compute_ns_per_step, as a share of the base."),
          F<&R::caused_wait_change_ns_per_step>("caused_wait_change_ns_per_step",
                                                "Change of caused_wait_ns_per_step. Null where a side has none."),
      }};
  return record;
}

const Record& RankPairing::Fields() {
  using R = RankPairing;
  static const Record record{
      "",
      "The ranks side by side, and which became worse.",
      {
          F<&R::by>("by", "What pairs the ranks. none: they are not compared one by one.")
              .OneOf({"gpu", "host", "rank", "none"}),
          F<&R::reason>("reason", "Why they are paired so."),
          F<&R::ranks>("ranks", "Pairs of ranks, by the change of the waiting that they cause, then of compute."),
          F<&R::efficiency>("efficiency",
                            "Of sides with different numbers of ranks: how well the job scales from fewer to more, 1 = "
                            "perfectly. Null "
                            "otherwise."),
          F<&R::scaling>("scaling",
                         "weak: each rank has the same work on both sides. strong: the work of a rank shrinks as ranks "
                         "are added. Null where the numbers of ranks are equal, or neither holds.")
              .OneOf({"weak", "strong"}),
      }};
  return record;
}

const Record& HostChange::Fields() {
  using R = HostChange;
  static const Record record{
      "host_change",
      "The ranks of one host of the new side, compared with the ranks of the base side that they are paired with.",
      {
          F<&R::host>("host", "Host name on the new side."),
          F<&R::base_hosts>("base_hosts", "Hosts that the paired ranks ran on, on the base side."),
          F<&R::ranks>("ranks", "Number of pairs of ranks."),
          F<&R::compute_change_ratio>("compute_change_ratio",
                                      "Median over its ranks of the change of compute_ns_per_step, as a share of the "
                                      "base."),
          F<&R::against_others_ratio>(
              "against_others_ratio",
              "The same, compared with the median over the ranks of all other hosts: above zero, the "
              "host became worse than the others did. Null with one host."),
          F<&R::against_others_interval>(
              "against_others_interval",
              "95 % interval of against_others_ratio, from how much the other hosts differ in their changes: if it "
              "holds zero, this host differs no more than they do. Null below six hosts."),
          F<&R::caused_wait_change_ns_per_step>("caused_wait_change_ns_per_step",
                                                "Change of the waiting of others a step that its ranks cause. Null "
                                                "where a side of a rank has none."),
      }};
  return record;
}

const Record& GateResult::Fields() {
  using R = GateResult;
  static const Record record{
      "gate_result",
      "One --gate. It fails only where the interval says so.",
      {
          F<&R::gate>("gate", "The gate as it was given."),
          F<&R::metric>("metric", "What it is about, and for patterns what matched it."),
          F<&R::value>("value", "The change: a share, or ns. Null where it is not known."),
          F<&R::interval>("interval", "95 % interval of the value. Null where it is not known."),
          F<&R::limit>("limit", "Largest change that the gate allows, in the unit of the value."),
          F<&R::verdict>("verdict",
                         "holds: the whole interval is within the limit. fails: the whole interval is beyond it. "
                         "unclear: neither, or there is no interval.")
              .OneOf({"holds", "fails", "unclear"}),
      }};
  return record;
}

const Record& ComparisonDocument::Fields() {
  using R = ComparisonDocument;
  static const Record record{
      "",
      "The answer of lockstep compare. Units are in the names; null is absent knowledge; a change is new minus base, "
      "and "
      "more is worse. Further fields may be added at any time.",
      {
          F<&R::schema>("schema", "Name and version of the format.").OneOf({kComparisonSchema}),
          F<&R::notices>("notices", "What restricts the answer."),
          F<&R::base>("base", "Runs of the base side."),
          F<&R::fresh>("new", "Runs of the new side."),
          F<&R::comparable>("comparable", "Whether the sides can be compared."),
          F<&R::noise>("noise", "How much runs of the same code differ."),
          F<&R::headline>("headline", "The answer in words."),
          F<&R::metrics>("metrics", "The step time and its parts."),
          F<&R::ledger>("ledger", "The change of the mean step, split into parts that sum to it."),
          F<&R::kernels>("kernels", "Kernels, by the size of the change of their time a step."),
          F<&R::families>("families", "Families of kernels, likewise."),
          F<&R::roles>("roles", "Parts of the model, likewise, and for each token."),
          F<&R::collectives>("collectives", "Collectives by operation, type, size and kind of group."),
          F<&R::late>("late", "Who makes the others wait, before and after."),
          F<&R::ranks>("ranks", "Ranks side by side."),
          F<&R::hosts>("hosts",
                       "Hosts; those that became worse than the others come first. Empty where ranks are not paired."),
          F<&R::gates>("gates", "Results of --gate."),
      }};
  return record;
}

}  // namespace lockstep::report
