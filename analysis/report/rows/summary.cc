#include "analysis/report/rows/summary.h"

namespace lockstep::report {

const Record& TimeShares::Fields() {
  using R = TimeShares;
  static const Record record{
      "",
      "Shares of the ranks' time over the common window; they sum to 1. All are null where the ranks have no device "
      "activity to compare.",
      {
          F<&R::compute_ratio>("compute_ratio", "Share in which compute kernels run."),
          F<&R::exposed_wait_ratio>("exposed_wait_ratio",
                                    "Share in which communication runs without compute and waits for a later rank."),
          F<&R::exposed_transfer_ratio>("exposed_transfer_ratio",
                                        "Share in which communication runs without compute after the last rank that it "
                                        "waits for has arrived."),
          F<&R::exposed_unresolved_ratio>("exposed_unresolved_ratio",
                                          "Share in which communication runs without compute, and it is unknown "
                                          "whether the rank waits or transfers."),
          F<&R::copy_ratio>("copy_ratio", "Share in which copies run, but no kernel."),
          F<&R::opaque_ratio>("opaque_ratio",
                              "Share in which nothing runs but CUDA graphs that the trace shows as one span."),
          F<&R::idle_ratio>("idle_ratio", "Share in which nothing runs."),
      }};
  return record;
}

const Record& Culprit::Fields() {
  using R = Culprit;
  static const Record record{
      "culprit",
      "Who makes the others wait: one rank, or a host, GPU position, rail, pipeline stage or communicator.",
      {
          F<&R::scope>("scope", "What it is: rank, gpu, host, rail, stage or communicator."),
          F<&R::id>("id", "Which one it is: the number of the rank, the name of the host, \"rail 2\", \"stage 0\"."),
          F<&R::name>("name",
                      "Of a communicator: description of its process group, else its name. Null where the traces have "
                      "neither, and for other scopes.")
              .Later(),
          F<&R::rank>("rank", "Global rank. Null for other scopes.").Later(),
          F<&R::rank_source>("rank_source",
                             "Where the number of the rank comes from: rank_map, metadata, mpi, nccl_init, "
                             "environment, file_name or assumed. Null for other scopes.")
              .Later(),
          F<&R::path>("path", "File of the trace of the rank. Null for other scopes, or where it is not known.")
              .Later(),
          F<&R::device>("device", "Number of the device that the rank uses. Null for other scopes.").Later(),
          F<&R::host>("host", "Name of the host. Null where it is not known, or its ranks are on several."),
          F<&R::gpu_uuid>("gpu_uuid", "UUID of the GPU of the rank. Null where it is not known, and for other scopes."),
          F<&R::pci_bus>("pci_bus", "PCI bus of that GPU. Null where it is not known, and for other scopes.").Later(),
          F<&R::ranks>("ranks", "Global ranks that belong to it.").Later(),
          F<&R::caused_wait_total_ns>(
              "caused_wait_total_ns",
              "Sum of the waits that it causes. Of a straggler these are all waits that go back "
              "to it, also through other ranks, where that is known; else the waits that can "
              "have been for no other rank."),
          F<&R::share_of_wait_ratio>("share_of_wait_ratio", "Its part of all waiting."),
          F<&R::confidence>("confidence",
                            "Confidence. For a straggler it is 1 / (1 - e p ln p), p = p_adjusted. For others it is "
                            "the waiting that the "
                            "rank certainly caused, divided by the waiting in the collectives where it arrived last. "
                            "It is at most 0.5 where durations alone or the replay contradict it, where open is true, "
                            "or where unresolved.leads is true."),
          F<&R::cause>("cause",
                       "Why it is late: slow_device, slow_kernel, slow_compute, more_work, more_data, host_delay, "
                       "host_pause, copies, transfer or dependency. Null where the traces do not show it."),
          F<&R::open>(
              "open",
              "A member of its groups has no record and may have come later still, so neither the culprit nor a "
              "saving is certain.")
              .Later(),
          F<&R::recurrence>("recurrence",
                            "How often it is late: persistent, periodic, bursty and random are those of a straggler; "
                            "undecided has too few steps, once has one long wait, irregular has most of the waiting "
                            "without a rhythm. Null where too few steps allow no test.")
              .OneOf({"persistent", "periodic", "bursty", "random", "undecided", "once", "irregular"})
              .Later(),
          F<&R::persistence>("persistence", "Share of the steps in which it is late. Null unless it is a straggler.")
              .Later(),
          F<&R::period_steps>("period_steps", "Steps from one late step to the next. Null unless it is periodic.")
              .Later(),
          F<&R::steps>("steps", "Number of steps that were tested. Null unless it is a straggler.").Later(),
          F<&R::block_ns>("block_ns",
                          "Length of the blocks of time that stand for steps where the collectives have none. Null "
                          "where the steps are steps.")
              .Later(),
          F<&R::kernel>("kernel",
                        "Kernel behind the largest part of its lateness. Null where no single kernel explains it, and "
                        "for a culprit that is no straggler.")
              .Later(),
          F<&R::frontier>("frontier",
                          "Whether durations alone, without any clock, point to it too. Null unless it is a straggler.")
              .OneOf({"agrees", "disagrees", "cannot_tell"})
              .Later(),
          F<&R::blamed_critical_ns>("blamed_critical_ns",
                                    "Part of the waits for it that is on the critical path, over the whole run. Null "
                                    "unless it is a straggler.")
              .Later(),
          F<&R::excess_ratio>("excess_ratio",
                              "How much slower it is than its peers, or how much more work it has. Null where that is "
                              "not known.")
              .Later(),
          F<&R::saving_reason>("saving_reason",
                               "Why a straggler, or a culprit that is open, has no saving. Null for all others.")
              .Later(),
          F<&R::saving_ratio>("saving_ratio",
                              "Share of a step that a replay saves with this culprit as fast as its peers. Null where "
                              "no replay tells it."),
          F<&R::saving_interval_ratio>(
              "saving_interval_ratio",
              "90 % interval of saving_ratio: 8 % of it below, 10 % of it above, and 0.2 % of the step to each side. "
              "Null where saving_ratio is null.")
              .Later(),
          F<&R::saving_after_others_ratio>(
              "saving_after_others_ratio",
              "Share of a step saved once the stragglers before it are mended, for one that "
              "saves nothing alone because the others wait for a slower one. Null for "
              "all others.")
              .Later(),
          F<&R::worst_at_ns>("worst_at_ns",
                             "Its arrival in the instance that cost most, since the run's start. Null where there is "
                             "none.")
              .Later(),
          F<&R::stretch_ns>("stretch_ns",
                            "Begin and end, since the run's start, of the stretch that holds nearly all of what it "
                            "caused. Null unless that is at most 0.4 of the run.")
              .Later(),
          F<&R::worst_at_unix_ns>("worst_at_unix_ns", "The same as worst_at_ns, in Unix time. Null where that is null.")
              .Later(),
      }};
  return record;
}

const Record& LeftOutCulprit::Fields() {
  using R = LeftOutCulprit;
  static const Record record{"",
                             "A rank with the waiting that it certainly caused by arriving last.",
                             {
                                 F<&R::rank>("rank", "Global rank."),
                                 F<&R::caused_wait_total_ns>("caused_wait_total_ns",
                                                             "Sum of the waits for it that can have been for no other "
                                                             "rank."),
                             }};
  return record;
}

const Record& LooksLate::Fields() {
  using R = LooksLate;
  static const Record record{
      "",
      "Who looks late again and again, while the recorded steps are too few to decide it.",
      {
          F<&R::scope>("scope", "What it is: rank, gpu, host, rail, stage or communicator."),
          F<&R::id>("id", "Which one it is, as in culprits."),
          F<&R::steps>("steps", "Number of steps that were tested."),
          F<&R::steps_needed>(
              "steps_needed",
              "Number of such steps that would decide it. Null where others are late as often: more steps would not."),
          F<&R::block_ns>("block_ns",
                          "Length of the blocks of time that stand for steps where the collectives have none. Null "
                          "where the steps are steps.")
              .Later(),
          F<&R::saving_ratio>("saving_ratio",
                              "Share of a step that a replay saves with it as fast as its peers, if it is late. Null "
                              "where no replay shows it."),
      }};
  return record;
}

const Record& SlowPart::Fields() {
  using R = SlowPart;
  static const Record record{
      "",
      "Ranks that no collective joins with the others, such as a replica of a server, and whose steps take longer than "
      "those of the other such parts of the run, though they launch as many kernels. The others do not wait for them.",
      {
          F<&R::ranks>("ranks", "Their global ranks, in ascending order."),
          F<&R::host>("host", "Their host. Null where they are on several, or it is not known."),
          F<&R::step_ns>("step_ns", "Median of their steps, each as long as on the rank where it takes longest."),
          F<&R::others_step_ns>("others_step_ns", "The same of the other parts: the median part's."),
      }};
  return record;
}

const Record& UnresolvedKernel::Fields() {
  using R = UnresolvedKernel;
  static const Record record{
      "",
      "A kernel that looks like communication although it is not classified as such: ranks with less other work spend "
      "more time in it.",
      {
          F<&R::name>("name", "Name of the kernel."),
          F<&R::others>("others",
                        "Further kernels that behave in the same way. The figures are of all of them together."),
          F<&R::shortest_rank>("shortest_rank", "Global rank that spends least time in the kernel."),
          F<&R::shortest_total_ns>("shortest_total_ns", "Sum of the durations of the kernel on that rank."),
          F<&R::longest_total_ns>("longest_total_ns",
                                  "Sum of the durations of the kernel on the rank that spends most time in it."),
      }};
  return record;
}

const Record& UnresolvedTime::Fields() {
  using R = UnresolvedTime;
  static const Record record{
      "",
      "Communication of which waiting and transferring cannot be told apart.",
      {
          F<&R::ratio>("ratio", "Its share of the ranks' time over the common window."),
          F<&R::reason>("reason",
                        "Reason of most of it: a member of the group has no record, the root or the peer is unknown, "
                        "the instances could not be matched, the clocks are less certain than the waits are long, or "
                        "it is in a kernel that is not classified as communication.")
              .OneOf({"missing_record", "unknown_role", "unmatched", "clocks", "unknown_kernel"}),
          F<&R::leads>("leads",
                       "It could change who is named: the ratio is 3 % or more and exceeds what the worst culprit "
                       "certainly caused; or a rank spends 3 % or more in the kernel; or ranks are missing, nobody is "
                       "named, and hardly any communication is known."),
          F<&R::missing_ranks>(
              "missing_ranks",
              "Global ranks that have no trace but belong to the run or to a group of it, in ascending order. "
              "Empty unless the reason is missing_record."),
          F<&R::kernel>("kernel", "The kernel, if the reason is unknown_kernel; else null."),
          F<&R::lacking_rank>(
              "lacking_rank",
              "Global rank whose trace lacks the largest share of the collectives that the others of its "
              "groups recorded. Null where the reason is another one, where missing_ranks names some, or "
              "where no trace is known to lack any."),
          F<&R::groups_inferred>("groups_inferred",
                                 "The reason is missing_record, and no trace tells who is in a group: those that were "
                                 "found from the times may lack members."),
      }};
  return record;
}

const Record& Workload::Fields() {
  using R = Workload;
  static const Record record{
      "",
      "What bounds the run. The shares are of the ranks' time.",
      {
          F<&R::kind>("class",
                      "The largest share: overhead, communication, or work, which is memory where memory_ratio exceeds "
                      "one half and else compute. Null where no share exceeds a third and leads by 2 % of the time, or "
                      "where work leads and memory_ratio is null.")
              .OneOf({"overhead", "communication", "compute", "memory"}),
          F<&R::overhead_ratio>("overhead_ratio", "Share in which the device is idle because of its host or a launch."),
          F<&R::communication_ratio>("communication_ratio", "Share in which communication runs without compute."),
          F<&R::work_ratio>("work_ratio",
                            "Share of compute, and of copies and opaque CUDA graphs that run without anything else."),
          F<&R::memory_ratio>("memory_ratio",
                              "Share of the kernel time, without communication, in families that mostly move memory. "
                              "Null without such kernel time."),
      }};
  return record;
}

const Record& WorstCollective::Fields() {
  using R = WorstCollective;
  static const Record record{
      "",
      "One row of the view collectives: one communicator, operation, data type, size and library.",
      {
          F<&R::communicator_id>("communicator_id", "Id of the communicator."),
          F<&R::name>("name", "Description of its process group, else its name. Null where the traces have neither.")
              .Later(),
          F<&R::op>("op", "Operation. Null where it is not known."),
          F<&R::bytes>("bytes", "Size of the message. Null where it is not known."),
          F<&R::wait_total_ns>("wait_total_ns", "Sum of the waits of all members over all instances."),
          F<&R::verdict>("verdict",
                         "Whether the time goes to transferring, to waiting for late ranks (skew), or to both.")
              .OneOf({"transfer", "skew", "mixed", "inconclusive"}),
      }};
  return record;
}

const Record& WorstTail::Fields() {
  using R = WorstTail;
  static const Record record{
      "",
      "A kernel that loses time in rare long instances.",
      {
          F<&R::name>("name", "Name of the kernel, or what --group-by asks for."),
          F<&R::rank>("rank", "Global rank that loses most of that time. Null where there is none."),
          F<&R::tail_score>("tail_score",
                            "Time beyond the median of all instances longer than twice the median, over the sum of the "
                            "ranks' spans."),
          F<&R::waits>("waits", "True where the long instances mostly wait for a later rank.").Later(),
          F<&R::waits_for_rank>("waits_for_rank",
                                "Global rank for which the long instances mostly wait. It certainly caused at least "
                                "half of all waiting, belongs to a culprit, and shares a group with rank. Null "
                                "otherwise.")
              .Later(),
      }};
  return record;
}

const Record& Problem::Fields() {
  using R = Problem;
  static const Record record{"",
                             "A failed gate of the view quality.",
                             {
                                 F<&R::gate>("gate", "Name of the gate."),
                                 F<&R::detail>("detail", "What was found."),
                                 F<&R::fix>("fix", "What to do about it."),
                             }};
  return record;
}

const Record& Summary::Fields() {
  using R = Summary;
  static const Record record{
      "",
      "Who makes the others wait, where the time goes, what bounds the run, and what to look at next. Waiting is that "
      "of what was asked for, in collectives that are matched with certainty on comparable clocks.",
      {
          F<&R::time_share>("time_share", "Where the ranks' time goes."),
          F<&R::window>("window", "The common window that time_share is of. Null where there is none.").Later(),
          F<&R::culprits>("culprits",
                          "At most three that make the others wait, ordered by what mending each would save. Empty "
                          "where nobody in particular can be named."),
          F<&R::left_out_culprit>("left_out_culprit",
                                  "The rank that --ranks leaves out and that certainly caused most waiting. Null where "
                                  "there is none.")
              .Later(),
          F<&R::most_awaited>("most_awaited",
                              "In a run of three ranks or more, the rank that certainly caused at least half of all "
                              "waiting by arriving last. Null where there is none. It is no culprit if it was late "
                              "only because it had waited itself.")
              .Later(),
          F<&R::looks_late>("looks_late",
                            "Who looks late while the steps do not decide it; the one that would save most. Null where "
                            "there is none.")
              .Later(),
          F<&R::slow_part>("slow_part",
                           "The part of the run that is slower than the others and joined with them by no collective. "
                           "Null where there is none, where the parts may do different work, and under a selection.")
              .Later(),
          F<&R::verdict>("verdict",
                         "What bounds the run, judged by time_share; under --nvtx by its shares of the time that is "
                         "not idle. The value skew stands for waiting, mixed for waiting and transferring, and host "
                         "for idle time that the host causes.")
              .OneOf({"transfer", "skew", "mixed", "compute", "host", "inconclusive"}),
          F<&R::unresolved>("unresolved",
                            "Communication that may be waiting or transferring. Null where there is none.")
              .Later(),
          F<&R::workload>("workload", "Class of the workload, with the shares that it rests on.").Later(),
          F<&R::step_ns>("step_ns",
                         "Step time of the job: of each step that all ranks have, the time from when the last rank "
                         "begins it to when the last rank begins the next one; where ranks number their steps alone, "
                         "the spans of all steps of all ranks. Null "
                         "without steps.")
              .Later(),
          F<&R::steps_by_rank>(
              "steps_by_rank",
              "Ranks number their steps by themselves, so that step_ns counts every step of every rank.")
              .Later(),
          F<&R::wait_total_ns>("wait_total_ns", "Sum of the waits of all ranks."),
          F<&R::certain_wait_ns>(
              "certain_wait_ns",
              "What of wait_total_ns the uncertainty of the clocks leaves: the sum of what each wait "
              "exceeds the half-width of its 95 % interval by. Null in documents of versions that do not tell it.")
              .Later(),
          F<&R::rank_time_ns>("rank_time_ns", "GPU time: sum of the spans of all ranks.").Later(),
          F<&R::pair_wait_total_ns>("pair_wait_total_ns", "Part of wait_total_ns in which receivers wait for senders.")
              .Later(),
          F<&R::tied_ranks>(
              "tied_ranks",
              "Global ranks that may each have caused a tenth of unassigned_wait_ns or more; at most four, "
              "the largest part first.")
              .Later(),
          F<&R::unassigned_wait_ns>("unassigned_wait_ns", "Part of wait_total_ns that no rank certainly caused.")
              .Later(),
          F<&R::ranks_assumed_all>("ranks_assumed_all",
                                   "No trace tells the number of ranks or the members of a group, and "
                                   "--expect-ranks is not given: the ranks present are taken for all of the job.")
              .Later(),
          F<&R::decided>("decided",
                         "There are enough steps to decide who is late again and again, so that a rank that is not "
                         "named is not late by a relevant amount. Null where stragglers were not looked for.")
              .Later(),
          F<&R::worst_collectives>("worst_collectives",
                                   "At most five rows of the view collectives that have waits, the longest sum first."),
          F<&R::worst_tails>("worst_tails", "At most five rows of the view tails, the largest tail_score first."),
          F<&R::problems>("problems", "At most three failed gates, the ones that matter most first."),
          F<&R::next>("next", "At most five views or commands to look at next, each with the reason."),
      }};
  return record;
}

}  // namespace lockstep::report
