#include "analysis/report/rows/collectives.h"

namespace lockstep::report {
namespace {

constexpr std::string_view kCollectiveOp = "Operation, such as all_reduce. Null where it is not known.";
constexpr std::string_view kCollectiveBytes =
    "Message size of one rank: what it sends to an all_gather, and what it receives from a reduce_scatter. Null where "
    "it is not known or the members differ.";
constexpr std::string_view kIdOfCollectives =
    "Identifier of the communicator: a hash of its members, equal in all trace formats.";

}  // namespace

const Record& CollectiveGroup::Fields() {
  using R = CollectiveGroup;
  static const Record record{
      "",
      "A communicator.",
      {
          F<&R::communicator_id>("communicator_id", kIdOfCollectives),
          F<&R::name>("name", "Name of the process group. Null where the traces have none."),
          F<&R::desc>("desc", "Description of the process group. Null where the traces have none."),
      }};
  return record;
}

const Record& ClockFreeWaits::Fields() {
  using R = ClockFreeWaits;
  static const Record record{
      "",
      "Waiting computed from durations alone, as a check of the aligned clocks. It covers the usable instances of "
      "all-pairs operations in which every member is present and the spread is at least 5 end_sigma_ns.",
      {
          F<&R::instances>("instances", "Number of these instances."),
          F<&R::wait_total_ns>("wait_total_ns",
                               "Sum over their members of the duration less the shortest duration in the instance."),
          F<&R::uncertainty_ns>("uncertainty_ns",
                                "Half-width of the 95 % interval of wait_total_ns: 1.96 end_sigma_ns for each member "
                                "of each instance."),
          F<&R::aligned_wait_total_ns>("aligned_wait_total_ns",
                                       "Sum of the waits in the same instances, computed from the aligned clocks."),
          F<&R::aligned_uncertainty_ns>("aligned_uncertainty_ns",
                                        "Half-width of the 95 % interval of aligned_wait_total_ns."),
          F<&R::end_sigma_ns>("end_sigma_ns",
                              "Standard deviation of the ends of an instance: 1.4826 times the median distance between "
                              "an aligned end and the middle end of its instance."),
          F<&R::finer>("finer",
                       "True where uncertainty_ns is below aligned_uncertainty_ns, so that the durations determine "
                       "these waits more precisely than the clocks do."),
          F<&R::agrees>("agrees", "True where the two totals differ by at most the sum of both uncertainties."),
      }};
  return record;
}

namespace {

std::vector<Field> IdentityOfCollective() {
  using R = CollectiveRow;
  return {
      F<&R::communicator>("communicator", "The communicator that the instances run in."),
      F<&R::members>("members", "Global ranks of its members. Empty where they are not known."),
      F<&R::op>("op", kCollectiveOp),
      F<&R::dtype>("dtype",
                   "Data type of the elements, such as bfloat16. Null where it is not known or the members differ."),
      F<&R::bytes>("bytes", kCollectiveBytes),
      F<&R::library>("library", "Library that provides the kernel, such as nccl. Null where it is not known."),
      F<&R::instances>("instances", "Number of instances found, matched across ranks or not."),
      F<&R::matched>("matched", "Number of instances that are matched across two ranks or more."),
      F<&R::complete>("complete",
                      "True where instances are matched and each of them has a record of every member of the "
                      "communicator."),
      F<&R::match>("match",
                   "Weakest way in which the matched instances are joined: id (by identifiers in the traces), order "
                   "(by order or time within the communicator), or inferred (the same, with members that the traces do "
                   "not name). Without a matched instance: ambiguous where several joins are possible, else none.")
          .OneOf({"id", "order", "inferred", "ambiguous", "none"}),
      F<&R::confidence>("confidence",
                        "Expected share of correct joins, the mean over the matched instances. Without a matched "
                        "instance 0 where joins are ambiguous, else null."),
  };
}

std::vector<Field> WaitsOfCollective() {
  using R = CollectiveRow;
  return {
      F<&R::spread_ns>("spread_ns", "Time from the first to the last arrival, one value per usable instance."),
      F<&R::wait_ns>("wait_ns",
                     "Time that a member waits for the latest member it depends on, one value per member of each "
                     "usable instance."),
      F<&R::wait_total_ns>("wait_total_ns", "Sum of these waits. Null without a usable instance."),
      F<&R::wait_uncertainty_ns>("wait_uncertainty_ns",
                                 "Half-width of the 95 % interval of wait_total_ns. Null without a usable instance."),
      F<&R::clock_free>("clock_free",
                        "Waiting computed from durations alone. Null where no instance qualifies or fewer than 10 "
                        "distances between ends are known."),
  };
}

std::vector<Field> TransfersOfCollective() {
  using R = CollectiveRow;
  return {
      F<&R::transfer_ns>("transfer_ns",
                         "Time from the last arrival to the first end, one value per usable instance of an all-pairs "
                         "operation in which every member is present."),
      F<&R::transfer_baseline_ns>(
          "transfer_baseline_ns",
          "Lower median, over the other communicators of the same operation, type, size, library and number of members "
          "(this one if there is no other), of their median transfer in instances with a spread of at most a tenth of "
          "the transfer. Null where the size is not known or no communicator has 5 such instances."),
      F<&R::transfer_excess_ratio>("transfer_excess_ratio",
                                   "Median of transfer_ns over transfer_baseline_ns, less one. Null without a transfer "
                                   "or without a baseline above zero."),
      F<&R::end_spread_ns>("end_spread_ns", "Time from the first to the last end, one value per usable instance."),
      F<&R::bus_bandwidth_gbps>(
          "bus_bandwidth_gbps",
          "Bus bandwidth as in nccl-tests, f * bytes / transfer, of complete instances with a spread of at most a "
          "tenth of the transfer. Among n members f is 2 (n - 1) / n for all_reduce, n - 1 for all_gather and "
          "reduce_scatter, (n - 1) / n for all_to_all, and 1 for broadcast, reduce and send_recv."),
      F<&R::apparent_bus_bandwidth_gbps>(
          "apparent_bus_bandwidth_gbps",
          "f * bytes over the time from the first start to the last end of each usable complete instance, waits "
          "included: what a benchmark that ignores skew reports."),
      F<&R::skew_share_ratio>("skew_share_ratio",
                              "W / (W + X) over the usable instances with a transfer, where W is the sum of the waits "
                              "and X the sum of members * transfer. Null where W + X is zero."),
      F<&R::skew_share_interval>("skew_share_interval",
                                 "95 % interval of skew_share_ratio by block bootstrap over steps, or over instances "
                                 "where fewer than 5 steps are known. Null where skew_share_ratio is."),
      F<&R::verdict>("verdict",
                     "skew where the interval is above 0.5, transfer where it is below 0.2, mixed where it is "
                     "between 0.1 and 0.7, else inconclusive. Also inconclusive with fewer than 5 usable instances, "
                     "with a confidence below 0.99, or where the uncertainties of the spreads sum to more than half of "
                     "wait_total_ns.")
          .OneOf({"transfer", "skew", "mixed", "inconclusive"}),
  };
}

std::vector<Field> FieldsOfCollective() {
  std::vector<Field> fields = IdentityOfCollective();
  for (Field& field : WaitsOfCollective()) fields.push_back(std::move(field));
  for (Field& field : TransfersOfCollective()) fields.push_back(std::move(field));
  return fields;
}

}  // namespace

const Record& CollectiveRow::Fields() {
  static const Record record{
      "collective",
      "The collectives of one communicator, operation, data type, size and library, most waiting first. An instance is "
      "usable if it is matched with a confidence of 0.99 or more and the clocks of its members are aligned.",
      FieldsOfCollective()};
  return record;
}

const Record& SkewOfRank::Fields() {
  using R = SkewOfRank;
  static const Record record{
      "skew_rank",
      "How long a rank waits for others, and others for it, over the usable instances that it is a member of.",
      {
          F<&R::rank>("rank", "Global rank."),
          F<&R::lateness_ns>("lateness_ns",
                             "Start of the rank less the mean start of all members, one value per instance."),
          F<&R::wait_ns>("wait_ns",
                         "Time that the rank waits for the latest member it depends on, one value per instance."),
          F<&R::wait_total_ns>("wait_total_ns", "Sum of its waits."),
          F<&R::wait_uncertainty_ns>("wait_uncertainty_ns", "Half-width of the 95 % interval of wait_total_ns."),
          F<&R::caused_wait_total_ns>("caused_wait_total_ns",
                                      "Sum of the waits of other members that were certainly for this rank and for no "
                                      "other one."),
          F<&R::caused_wait_uncertainty_ns>("caused_wait_uncertainty_ns",
                                            "Half-width of the 95 % interval of caused_wait_total_ns."),
          F<&R::last_arrivals>("last_arrivals", "Number of instances in which the rank certainly arrived last."),
          F<&R::last_arrival_ratio>("last_arrival_ratio",
                                    "last_arrivals over the rank's instances in which the last member is certain. Null "
                                    "where there is none."),
          F<&R::instances>("instances", "Number of usable instances that the rank is a member of."),
      }};
  return record;
}

const Record& SkewOfStep::Fields() {
  using R = SkewOfStep;
  static const Record record{
      "",
      "Waiting in the usable instances of one step.",
      {
          F<&R::step>("step", "Number of the step."),
          F<&R::instances>("instances", "Number of usable instances that all members launched in the step."),
          F<&R::wait_total_ns>("wait_total_ns", "Sum of the waits of all members."),
          F<&R::wait_uncertainty_ns>("wait_uncertainty_ns", "Half-width of the 95 % interval of wait_total_ns."),
          F<&R::worst_rank>("worst_rank",
                            "Rank that certainly caused the most waiting in the step. Null where no waiting has a "
                            "certain cause."),
          F<&R::worst_caused_wait_ns>("worst_caused_wait_ns",
                                      "Waiting that worst_rank certainly caused. Null where worst_rank is."),
          F<&R::spread_ns>("spread_ns", "Time from the first to the last arrival, one value per instance."),
      }};
  return record;
}

const Record& SkewMember::Fields() {
  using R = SkewMember;
  static const Record record{
      "member",
      "One rank's part in an instance, on the aligned clock.",
      {
          F<&R::rank>("rank", "Global rank."),
          F<&R::start_ns>("start_ns", "Start of its kernel, since the run's start."),
          F<&R::end_ns>("end_ns", "End of its kernel, since the run's start."),
          F<&R::wait_ns>("wait_ns",
                         "Time from its start to the latest start that it certainly waits for, or to its own end if "
                         "that is earlier. Null where the clocks of the members are not aligned."),
          F<&R::wait_uncertainty_ns>("wait_uncertainty_ns",
                                     "Half-width of the 95 % interval of wait_ns, 0 where it waits for nobody. Null "
                                     "where wait_ns is."),
          F<&R::lateness_ns>("lateness_ns",
                             "Its start less the mean start of all members. Null where the clocks of the members are "
                             "not aligned."),
      }};
  return record;
}

namespace {

std::vector<Field> IdentityOfInstance() {
  using R = SkewInstance;
  return {
      F<&R::communicator_id>("communicator_id", kIdOfCollectives),
      F<&R::communicator_name>("communicator_name",
                               "Description of its process group, else its name. Null where the traces have neither.")
          .Later(),
      F<&R::index>("index",
                   "Number of the instance in its communicator, counted from 0 in the order of last arrivals."),
      F<&R::seq>("seq",
                 "Sequence number that the traces have for the instance. Null where they have none or the members "
                 "differ."),
      F<&R::op>("op", kCollectiveOp),
      F<&R::bytes>("bytes", kCollectiveBytes),
      F<&R::step>("step", "Step in which all members launched it. Null where that is not one step."),
  };
}

std::vector<Field> ArrivalsOfInstance() {
  using R = SkewInstance;
  return {
      F<&R::spread_ns>("spread_ns",
                       "Last start less first start. Null where the clocks of the members are not aligned."),
      F<&R::uncertainty_ns>("uncertainty_ns", "Half-width of the 95 % interval of spread_ns. Null where spread_ns is."),
      F<&R::resolvable>("resolvable", "True where spread_ns exceeds uncertainty_ns."),
      F<&R::transfer_ns>("transfer_ns",
                         "First end less last start, at least 0. Null unless the operation is all-pairs, every member "
                         "is present and their clocks are aligned."),
      F<&R::shortest_duration_ns>("shortest_duration_ns", "Shortest duration of a member's kernel."),
      F<&R::end_spread_ns>("end_spread_ns",
                           "Last end less first end. Null where the clocks of the members are not aligned."),
      F<&R::solo_damage_ns>("solo_damage_ns",
                            "Last start less second last start: what the last rank alone costs. Null where the clocks "
                            "of the members are not aligned."),
      F<&R::first_rank>("first_rank",
                        "Rank with the first start. Null where the clocks of the members are not aligned."),
      F<&R::last_rank>("last_rank", "Rank with the last start. Null where the clocks of the members are not aligned."),
      F<&R::last_certain>("last_certain",
                          "True where the last start is later than every other one by more than the uncertainty of the "
                          "pair, and no member lacks a record."),
      F<&R::complete>("complete", "True where all members of the communicator are known and each one has a record."),
      F<&R::confidence>("confidence", "Probability that the join across ranks is correct."),
      F<&R::members>("members", "The ranks that have a record of the instance, by rank."),
  };
}

std::vector<Field> FieldsOfInstance() {
  std::vector<Field> fields = IdentityOfInstance();
  for (Field& field : ArrivalsOfInstance()) fields.push_back(std::move(field));
  return fields;
}

}  // namespace

const Record& SkewInstance::Fields() {
  static const Record record{"instance", "One matched instance of a collective.", FieldsOfInstance()};
  return record;
}

const Record& Skew::Fields() {
  using R = Skew;
  static const Record record{
      "",
      "Which ranks wait, and which ranks they wait for, in the usable instances: those matched with a confidence of "
      "0.99 or more whose members have aligned clocks.",
      {
          F<&R::unassigned_wait_ns>("unassigned_wait_ns",
                                    "Sum of the waits that were not certainly for one rank alone. With the "
                                    "caused_wait_total_ns of all ranks it sums to the wait_total_ns of all ranks."),
          F<&R::ranks>("ranks", "Skew of each rank, by rank."),
          F<&R::steps>("steps", "Skew of each step, by step; collectives launched in no step are left out."),
          F<&R::instances>(
              "instances",
              "With --instances: the matched instances, all or those with the most waiting, by communicator and index. "
              "Empty without it."),
      }};
  return record;
}

}  // namespace lockstep::report
