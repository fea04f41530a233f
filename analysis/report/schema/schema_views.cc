#include "analysis/report/schema/schema_views.h"

#include "analysis/model/instance_row.h"
#include "analysis/report/json.h"
#include "analysis/report/schema/schema_builder.h"

namespace lockstep::schema {
namespace {

Json Pct() { return Reference("pct"); }

Json TailPartFields(std::string_view key, Json type) {
  return Object({{key, std::move(type)},
                 {"p50_ns", OrNull(Integer())},
                 {"p99_ns", OrNull(Integer())},
                 {"max_ns", OrNull(Integer())},
                 {"share_of_tail_ratio", OrNull(Number())}});
}

Json TimeShareFields() {
  return Object({{"compute_ratio", OrNull(Number())},
                 {"exposed_wait_ratio", OrNull(Number())},
                 {"exposed_transfer_ratio", OrNull(Number())},
                 {"exposed_unresolved_ratio", OrNull(Number())},
                 {"copy_ratio", OrNull(Number())},
                 {"opaque_ratio", OrNull(Number())},
                 {"idle_ratio", OrNull(Number())}});
}

Json WorstCollective() {
  return Object({{"communicator_id", Text()},
                 {"op", OrNull(Text())},
                 {"bytes", OrNull(Count())},
                 {"wait_total_ns", Count()},
                 {"verdict", OneOf({"transfer", "skew", "mixed", "inconclusive"})}});
}

Json EfficiencyFields() {
  return Object({{"window_ns", OrNull(Count())},
                 {"parallel", OrNull(Number())},
                 {"load_balance", OrNull(Number())},
                 {"communication", OrNull(Number())},
                 {"serialisation", OrNull(Number())},
                 {"transfer", OrNull(Number())},
                 {"busy_share", OrNull(Number())},
                 {"orchestration", OrNull(Number())}});
}

}  // namespace

Json MemberRow() {
  return Object({{"rank", Integer()},
                 {"start_ns", Integer()},
                 {"end_ns", Integer()},
                 {"wait_ns", OrNull(Count())},
                 {"wait_uncertainty_ns", OrNull(Count())},
                 {"lateness_ns", OrNull(Integer())}});
}

Json ClockHostRow() {
  return Object({{"host", OrNull(Text())},
                 {"domain", Integer()},
                 {"ranks", Count()},
                 {"component", Integer()},
                 {"offset_ns", OrNull(Integer())},
                 {"uncertainty_ns", OrNull(Count())},
                 {"drift_ppm", OrNull(Number())},
                 {"at_ns", OrNull(Integer())},
                 {"certified_ns", OrNull(Pair(Integer()))},
                 {"certified", Boolean()},
                 {"sigma_ns", OrNull(Number())},
                 {"inside_ns", OrNull(Count())},
                 {"devices", List(Object({{"rank", Integer()}, {"bias_ns", Integer()}}))},
                 {"method", OneOf({"shared", "band", "ends", "utc", "none"})},
                 {"instances", Count()},
                 {"knots", List(Object({{"t_ns", Integer()},
                                        {"offset_ns", Integer()},
                                        {"lo_ns", OrNull(Integer())},
                                        {"hi_ns", OrNull(Integer())},
                                        {"sigma_ns", OrNull(Number())}}))},
                 {"steps", List(Object({{"t_ns", Integer()}, {"size_ns", Integer()}}))}});
}

Json QuantityRow() {
  return Object({{"quantity", Text()},
                 {"unit", Text()},
                 {"per_rank", List(Object({{"rank", Integer()}, {"value", OrNull(Number())}}))},
                 {"by_host", List(Map(Anything()))},
                 {"by_group", List(Map(Anything()))},
                 {"max_over_mean_ratio", OrNull(Number())},
                 {"max_minus_min_over_max_ratio", OrNull(Number())},
                 {"cv_ratio", OrNull(Number())},
                 {"worst_rank", OrNull(Integer())},
                 {"kind", OneOf({"more_work", "slower", "unknown"})},
                 {"waits?", Boolean()}});
}

Json InstanceRow() {
  return Object({{"communicator_id", Text()},
                 {"index", Count()},
                 {"seq", OrNull(Digits())},
                 {"op", OrNull(Text())},
                 {"bytes", OrNull(Count())},
                 {"step", OrNull(Integer())},
                 {"spread_ns", OrNull(Count())},
                 {"uncertainty_ns", OrNull(Count())},
                 {"resolvable", OrNull(Boolean())},
                 {"transfer_ns", OrNull(Count())},
                 {"shortest_duration_ns", OrNull(Count())},
                 {"end_spread_ns", OrNull(Count())},
                 {"solo_damage_ns", OrNull(Count())},
                 {"first_rank", OrNull(Integer())},
                 {"last_rank", OrNull(Integer())},
                 {"last_certain", OrNull(Boolean())},
                 {"complete", Boolean()},
                 {"confidence", OrNull(Number())},
                 {"members", List(Reference("member"))}});
}

Json GateRow() {
  return Object({{"name", Text()}, {"ok", OrNull(Boolean())}, {"detail", Text()}, {"fix", OrNull(Text())}});
}

Json CulpritRow() {
  return Object(
      {{"scope", Text()},
       {"id", Text()},
       {"host", OrNull(Text())},
       {"gpu_uuid", OrNull(Text())},
       {"caused_wait_total_ns", Count()},
       {"share_of_wait_ratio", OrNull(Number())},
       {"confidence", OrNull(Number())},
       {"cause", OrNull(Text())},
       {"open?", Boolean()},
       {"saving_ratio", OrNull(Number())},
       {"saving_reason?", OrNull(Text())},
       {"saving_after_others_ratio?", OrNull(Number())},
       {"rank?", OrNull(Integer())},
       {"rank_source?", OrNull(Text())},
       {"path?", OrNull(Text())},
       {"device?", OrNull(Integer())},
       {"ranks?", List(Integer())},
       {"pci_bus?", OrNull(Text())},
       {"recurrence?", OrNull(OneOf({"persistent", "periodic", "bursty", "random", "undecided", "once", "irregular"}))},
       {"persistence?", OrNull(Number())},
       {"period_steps?", OrNull(Number())},
       {"steps?", OrNull(Count())},
       {"kernel?", OrNull(Text())},
       {"excess_ratio?", OrNull(Number())},
       {"saving_interval_ratio?", OrNull(Pair(Number()))},
       {"blamed_critical_ns?", OrNull(Count())},
       {"frontier?", OrNull(OneOf({"agrees", "disagrees", "cannot_tell"}))},
       {"worst_at_ns?", OrNull(Integer())},
       {"stretch_ns?", OrNull(Pair(Integer()))},
       {"worst_at_unix_ns?", OrNull(Digits())}});
}

Json Percentiles() {
  return Object({{"p50", OrNull(Number())},
                 {"p90", OrNull(Number())},
                 {"p95", OrNull(Number())},
                 {"p99", OrNull(Number())},
                 {"p999", OrNull(Number())},
                 {"max", OrNull(Number())},
                 {"min", OrNull(Number())},
                 {"mean", OrNull(Number())},
                 {"count", Count()},
                 {"stddev", OrNull(Number())},
                 {"median?", OrNull(Number())},
                 {"bounds?", Map(Pair(Number()))}});
}

Json NoticeRow() { return Object({{"view", Text()}, {"reason", Text()}}); }

Json Run() {
  return Object(
      {{"name", Text()},
       {"state", Text()},
       {"ranks", Count()},
       {"hosts", OrNull(Count())},
       {"world_size", OrNull(Count())},
       {"missing_ranks", List(Integer())},
       {"start_unix_ns", OrNull(Digits())},
       {"span_ns", OrNull(Count())},
       {"lockstep_version", Text()},
       {"captures?",
        OrNull(
            Object({{"all", List(Object({{"ranks", Count()}, {"start_unix_ns", Digits()}, {"end_unix_ns", Digits()}}))},
                    {"chosen", Count()},
                    {"asked", Boolean()}}))},
       {"clocks_apart_ns?", OrNull(Count())},
       {"left_out?", OrNull(Object({{"count", Count()}, {"path", Text()}, {"reason", Text()}}))},
       {"analysed", OrNull(Map(Anything()))},
       {"layout", OrNull(Map(Anything()))},
       {"layout_source", OrNull(Text())}});
}

Json Summary() {
  return Object(
      {{"time_share", TimeShareFields()},
       {"culprits", List(Reference("culprit"))},
       {"left_out_culprit?", OrNull(Object({{"rank", Integer()}, {"caused_wait_total_ns", Count()}}))},
       {"verdict", OneOf({"transfer", "skew", "mixed", "compute", "host", "inconclusive"})},
       {"unresolved?",
        OrNull(Object({{"ratio", Number()},
                       {"reason", OneOf({"missing_record", "unknown_role", "unmatched", "clocks", "unknown_kernel"})},
                       {"leads", Boolean()},
                       {"missing_ranks", List(Integer())},
                       {"lacking_rank", OrNull(Integer())},
                       {"kernel", OrNull(Object({{"name", Text()},
                                                 {"shortest_rank", Integer()},
                                                 {"shortest_total_ns", Count()},
                                                 {"longest_total_ns", Count()}}))}}))},
       {"decided?", OrNull(Boolean())},
       {"ranks_assumed_all?", Boolean()},
       {"rank_time_ns?", Count()},
       {"pair_wait_total_ns?", Count()},
       {"tied_ranks?", List(Integer())},
       {"workload?", Object({{"class", OrNull(OneOf({"overhead", "communication", "compute", "memory"}))},
                             {"overhead_ratio", Number()},
                             {"communication_ratio", Number()},
                             {"work_ratio", Number()},
                             {"memory_ratio", OrNull(Number())}})},
       {"wait_total_ns", OrNull(Count())},
       {"unassigned_wait_ns?", OrNull(Count())},
       {"worst_collectives", List(WorstCollective())},
       {"worst_tails", List(Object({{"name", Text()}, {"rank", OrNull(Integer())}, {"tail_score", Number()}}))},
       {"problems", List(Object({{"gate", Text()}, {"detail", Text()}, {"fix", OrNull(Text())}}))},
       {"next", List(Text())}});
}

Json RankRow() {
  return Object({{"rank", Integer()},
                 {"rank_source", Text()},
                 {"host", OrNull(Text())},
                 {"host_source", Text()},
                 {"domain", OrNull(Integer())},
                 {"capture", OrNull(Integer())},
                 {"device", OrNull(Integer())},
                 {"pid", OrNull(Integer())},
                 {"gpu_name", OrNull(Text())},
                 {"gpu_uuid", OrNull(Text())},
                 {"pci_bus", OrNull(Text())},
                 {"format", OrNull(Text())},
                 {"tool_version", OrNull(Text())},
                 {"versions", Map(OrNull(Text()))},
                 {"path", OrNull(Text())},
                 {"start_unix_ns", OrNull(Digits())},
                 {"span_ns", OrNull(Count())},
                 {"kernels", Count()},
                 {"collectives", Count()},
                 {"copies", Count()},
                 {"steps", Object({{"first", OrNull(Integer())},
                                   {"last", OrNull(Integer())},
                                   {"count", Count()},
                                   {"source", OrNull(Text())}})},
                 {"complete", Boolean()}});
}

Json Quality() {
  return Object({{"gates", List(Reference("gate"))},
                 {"ranks", List(Object({{"rank", Integer()}, {"counters", Map(Count())}}))},
                 {"files", List(Object({{"path", Text()},
                                        {"status", OneOf({"used", "partial", "skipped", "refused"})},
                                        {"reason", OrNull(Text())},
                                        {"offset", OrNull(Count())}}))}});
}

Json KernelRow() {
  return Object({{"name", Text()},
                 {"category", OrNull(Text())},
                 {"family", OrNull(Text())},
                 {"ranks", Count()},
                 {"instances", Count()},
                 {"total_ns", Count()},
                 {"share_ratio", OrNull(Number())},
                 {"duration_ns", Pct()},
                 {"tail_score", OrNull(Number())},
                 {"p99_over_p50_ratio", OrNull(Number())},
                 {"max_over_p50_ratio", OrNull(Number())},
                 {"tail_flags?", OrNull(List(OneOf({"systematic", "outliers"})))},
                 {"slowest_rank", OrNull(Integer())},
                 {"rank_imbalance_ratio", OrNull(Number())},
                 {"by_rank", List(Object({{"rank", Integer()},
                                          {"instances", Count()},
                                          {"total_ns", Count()},
                                          {"min_ns", OrNull(Integer())},
                                          {"max_ns", OrNull(Integer())},
                                          {"mean_ns", OrNull(Number())},
                                          {"stddev_ns", OrNull(Number())},
                                          {"p50_ns", OrNull(Integer())},
                                          {"p99_ns", OrNull(Integer())}}))}});
}

Json FamilyRow() {
  return Object({{"family", Text()},
                 {"instances", Count()},
                 {"total_ns", Count()},
                 {"share_ratio", OrNull(Number())},
                 {"by_rank", List(Object({{"rank", Integer()}, {"total_ns", Count()}}))}});
}

Json CollectiveRow() {
  return Object(
      {{"communicator", Object({{"communicator_id", Text()}, {"name", OrNull(Text())}, {"desc", OrNull(Text())}})},
       {"members", List(Integer())},
       {"op", OrNull(Text())},
       {"dtype", OrNull(Text())},
       {"bytes", OrNull(Count())},
       {"library", OrNull(Text())},
       {"instances", Count()},
       {"matched", Count()},
       {"complete", Boolean()},
       {"match", OneOf({"id", "order", "inferred", "ambiguous", "none"})},
       {"confidence", OrNull(Number())},
       {"spread_ns", Pct()},
       {"wait_ns", Pct()},
       {"wait_total_ns", OrNull(Count())},
       {"wait_uncertainty_ns", OrNull(Count())},
       {"clock_free", OrNull(Object({{"instances", Count()},
                                     {"wait_total_ns", Count()},
                                     {"uncertainty_ns", Count()},
                                     {"aligned_wait_total_ns", Count()},
                                     {"aligned_uncertainty_ns", Count()},
                                     {"end_sigma_ns", Count()},
                                     {"finer", Boolean()},
                                     {"agrees", Boolean()}}))},
       {"transfer_ns", Pct()},
       {"transfer_baseline_ns", OrNull(Count())},
       {"transfer_excess_ratio", OrNull(Number())},
       {"end_spread_ns", Pct()},
       {"bus_bandwidth_gbps", Pct()},
       {"apparent_bus_bandwidth_gbps", Pct()},
       {"skew_share_ratio", OrNull(Number())},
       {"skew_share_interval", OrNull(Pair(Number()))},
       {"verdict", OneOf({"transfer", "skew", "mixed", "inconclusive"})}});
}

Json SkewRankRow() {
  return Object({{"rank", Integer()},
                 {"lateness_ns", Pct()},
                 {"wait_ns", Pct()},
                 {"wait_total_ns", Count()},
                 {"wait_uncertainty_ns", Count()},
                 {"caused_wait_total_ns", Count()},
                 {"caused_wait_uncertainty_ns", Count()},
                 {"last_arrivals", Count()},
                 {"last_arrival_ratio", OrNull(Number())},
                 {"instances", Count()}});
}

Json Skew() {
  return Object({{"unassigned_wait_ns", OrNull(Count())},
                 {"ranks", List(Reference("skew_rank"))},
                 {"steps", List(Object({{"step", Integer()},
                                        {"instances", Count()},
                                        {"wait_total_ns", Count()},
                                        {"wait_uncertainty_ns", Count()},
                                        {"worst_rank", OrNull(Integer())},
                                        {"worst_caused_wait_ns", OrNull(Count())},
                                        {"spread_ns", Pct()}}))},
                 {"instances", List(Reference("instance"))}});
}

Json OverlapRow() {
  return Object({{"rank", Integer()},
                 {"span_ns", Count()},
                 {"compute_ns", Count()},
                 {"comm_ns", Count()},
                 {"copy_ns", Count()},
                 {"overlap_ns", OrNull(Count())},
                 {"overlap_ratio", OrNull(Number())},
                 {"exposed_comm_ns", OrNull(Count())},
                 {"strict_exposed_comm_ns", OrNull(Count())},
                 {"exposed_wait_ns", OrNull(Count())},
                 {"exposed_transfer_ns", OrNull(Count())},
                 {"exposed_unresolved_ns", OrNull(Count())},
                 {"copy_only_ns", Count()},
                 {"opaque_only_ns", Count()},
                 {"idle_ns", Count()},
                 {"busy_ratio", OrNull(Number())}});
}

Json Imbalance() {
  return Object({{"window", Object({{"start_ns", OrNull(Integer())}, {"span_ns", OrNull(Count())}, {"kind", Text()}})},
                 {"quantities", List(Reference("quantity"))},
                 {"efficiency", EfficiencyFields()}});
}

Json TailRow() {
  return Object(
      {{"name", Text()},
       {"category", OrNull(Text())},
       {"fleet_ns", Pct()},
       {"by_rank", List(TailPartFields("rank", Integer()))},
       {"by_host", List(TailPartFields("host", OrNull(Text())))},
       {"by_phase", List(TailPartFields("phase", OrNull(Text())))},
       {"by_slice",
        List(Object({{"start_ns", Integer()}, {"span_ns", Count()}, {"share_of_tail_ratio", OrNull(Number())}}))},
       {"by_step?", List(Object({{"step", OrNull(Integer())}, {"share_of_tail_ratio", OrNull(Number())}}))},
       {"by_step_told_ratio?", OrNull(Number())},
       {"tail_score", Number()},
       {"wait_ns", OrNull(Pct())},
       {"transfer_ns", OrNull(Pct())},
       {"exemplars",
        List(Object(
            {{"rank", Integer()}, {"start_ns", Integer()}, {"duration_ns", Count()}, {"step", OrNull(Integer())}}))}});
}

Json IdleRow() {
  return Object(
      {{"rank", Integer()},
       {"device", OrNull(Integer())},
       {"gaps", OrNull(Count())},
       {"idle_ns", Count()},
       {"host_ns", Count()},
       {"launch_ns", Count()},
       {"dependency_ns", Count()},
       {"other_ns", Count()},
       {"gap_ns", OrNull(Pct())},
       {"dominant_gap_ns", OrNull(Count())},
       {"streams",
        List(Object(
            {{"stream", Integer()}, {"host_wait_ns", Count()}, {"kernel_wait_ns", Count()}, {"other_ns", Count()}}))},
       {"bursts?", OrNull(Object({{"count", Count()}, {"busy_ns", Count()}, {"idle_after_ns", Count()}}))}});
}

Json HostRow() {
  return Object({{"api", Text()},
                 {"ranks", Count()},
                 {"calls", Count()},
                 {"total_ns", Count()},
                 {"duration_ns", Pct()},
                 {"launch_delay_ns", Pct()},
                 {"queue_ns", Pct()},
                 {"p99_over_p50_ratio?", OrNull(Number())},
                 {"max_over_p50_ratio?", OrNull(Number())},
                 {"tail_flags?", OrNull(List(OneOf({"systematic", "outliers"})))}});
}

Json LaunchRow() {
  return Object({{"api", Text()},
                 {"kernel", Text()},
                 {"rank", Integer()},
                 {"pid", OrNull(Count())},
                 {"tid?", OrNull(Count())},
                 {"device", OrNull(Count())},
                 {"count", Count()},
                 {"queue_count", Count()},
                 {"total_ns", Pct()},
                 {"api_ns", Pct()},
                 {"queue_ns", Pct()},
                 {"kernel_ns", Pct()}});
}

Json NvtxRow() {
  return Object({{"range", Text()},
                 {"domain", OrNull(Text())},
                 {"style", Text()},
                 {"rank", OrNull(Integer())},
                 {"instances", Count()},
                 {"total_ns", Count()},
                 {"duration_ns", Pct()},
                 {"projected_ns", Pct()}});
}

Json MemoryRow() {
  return Object({{"kind", Text()},
                 {"operations", Count()},
                 {"bytes", OrNull(Count())},
                 {"total_ns", Count()},
                 {"duration_ns", Pct()},
                 {"bandwidth_gbps", Pct()},
                 {"size_bytes", Pct()},
                 {"blocking", OrNull(Count())}});
}

Json AllocationRow() {
  return Object({{"rank", Integer()},
                 {"peak_bytes", OrNull(Count())},
                 {"peak_at_ns", OrNull(Integer())},
                 {"level", List(Object({{"t_ns", Integer()}, {"bytes", Integer()}}))}});
}

Json StepRow() {
  return Object(
      {{"rank", Integer()},
       {"step", Integer()},
       {"name", OrNull(Text())},
       {"start_ns", Integer()},
       {"span_ns", Count()},
       {"first_start_ns", OrNull(Integer())},
       {"last_end_ns", OrNull(Integer())},
       {"compute_ns", Count()},
       {"comm_ns", Count()},
       {"exposed_comm_ns", Count()},
       {"exposed_wait_ns", Count()},
       {"exposed_transfer_ns", Count()},
       {"exposed_unresolved_ns", Count()},
       {"copy_only_ns", Count()},
       {"opaque_only_ns", Count()},
       {"idle_ns", Count()},
       {"idle",
        Object({{"host_ns", Count()}, {"launch_ns", Count()}, {"dependency_ns", Count()}, {"other_ns", Count()}})},
       {"launches", Count()},
       {"host?", Object({{"launch_ns", Count()},
                         {"graph_launches", Count()},
                         {"sync_calls", Count()},
                         {"sync_ns", Count()},
                         {"alloc_calls", Count()},
                         {"alloc_ns", Count()},
                         {"alloc_max_ns", Count()},
                         {"host_copies", Count()},
                         {"host_copy_ns", Count()}})},
       {"phase", OrNull(Text())},
       {"verdict", OrNull(OneOf({"gpu", "host", "communication"}))},
       {"phases?",
        OrNull(Object({{"forward_ratio", Number()}, {"backward_ratio", Number()}, {"optimizer_ratio", Number()}}))},
       {"why", OrNull(Text())},
       {"budget?", Object({{"busy_ratio", OrNull(Number())},
                           {"host_gap_ratio", OrNull(Number())},
                           {"communication_ratio", OrNull(Number())}})}});
}

Json PaceRankRow() {
  return Object({{"rank", Integer()},
                 {"compute_ratio", List(OrNull(Number()))},
                 {"comm_ratio", List(OrNull(Number()))},
                 {"busy_ratio", List(OrNull(Number()))},
                 {"steps_done?", List(Number())}});
}

Json PacedKernel() {
  const Json slice =
      Object({{"start_ns", Integer()}, {"span_ns", Count()}, {"instances", Count()}, {"mean_ns", Number()}});
  return Object({{"name", Text()}, {"ranks", List(Object({{"rank", Integer()}, {"slices", List(slice)}}))}});
}

Json Pace() {
  return Object({{"bucket_ns", OrNull(Number())},
                 {"start_ns", OrNull(Integer())},
                 {"ranks", List(Reference("pace_rank"))},
                 {"kernels?", List(PacedKernel())}});
}

Json Clock() {
  return Object({{"reference_host", OrNull(Text())},
                 {"components", List(Object({{"component", Integer()},
                                             {"reference_host", OrNull(Text())},
                                             {"hosts", List(Text())},
                                             {"not_resolvable_below_ns", OrNull(Count())},
                                             {"worst_pair", OrNull(Pair(Integer()))}}))},
                 {"hosts", List(Reference("clock_host"))}});
}

Json StragglerRow() {
  return Object(
      {{"scope", OneOf({"rank", "gpu", "host", "rail", "stage", "communicator"})},
       {"id", Text()},
       {"rank", OrNull(Integer())},
       {"host", OrNull(Text())},
       {"kind", OneOf({"persistent", "periodic", "bursty", "random"})},
       {"effect_ns_per_step", Number()},
       {"confidence_interval_ns", OrNull(Pair(Number()))},
       {"p_adjusted", OrNull(Number())},
       {"saving_ns_per_step", OrNull(Number())},
       {"saving_ratio", OrNull(Number())},
       {"saving_bound_ns", OrNull(Pair(Number()))},
       {"saving_reason?", OrNull(Text())},
       {"saving_after_others_ratio?", OrNull(Number())},
       {"blamed_wait_ns?", OrNull(Count())},
       {"blamed_critical_ns?", OrNull(Count())},
       {"frontier?", OneOf({"agrees", "disagrees", "cannot_tell"})},
       {"ranks?", List(Integer())},
       {"parts",
        List(Object(
            {{"cause", Text()}, {"kernel", OrNull(Text())}, {"ns", Number()}, {"excess_ratio?", OrNull(Number())}}))},
       {"period_steps?", OrNull(Number())},
       {"persistence", OrNull(Number())},
       {"steps", Count()},
       {"n_eff", OrNull(Number())}});
}

Json FindingRow() {
  return Object(
      {{"id", Text()},
       {"severity", Json({{"type", {"string", "integer"}}})},
       {"title", Text()},
       {"evidence",
        List(Object({{"metric", Text()}, {"value", Anything()}, {"threshold", Anything()}, {"where", Anything()}}))},
       {"cause", OrNull(Text())},
       {"next_action", OrNull(Text())},
       {"saving_ratio", OrNull(Number())}});
}

}  // namespace lockstep::schema
