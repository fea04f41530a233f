#include "proto/query_codec.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

using Bounds = std::optional<std::pair<int64_t, int64_t>>;

void PutBounds(const Bounds& bounds, v1::Range* (v1::ViewsRequest::*mutable_range)(), v1::ViewsRequest* out) {
  if (bounds) {
    v1::Range* range = (out->*mutable_range)();
    range->set_first(bounds->first);
    range->set_last(bounds->second);
  }
}

Bounds BoundsOfRange(bool present, const v1::Range& range) {
  return present ? Bounds(std::in_place, range.first(), range.last()) : std::nullopt;
}

}  // namespace

void ToProto(const std::string& run, const AnalysisOptions& options, v1::ViewsRequest* out) {
  out->set_run(run);
  *out->mutable_views() = {options.views.begin(), options.views.end()};
  PutBounds(options.steps, &v1::ViewsRequest::mutable_steps, out);
  PutBounds(options.time_ns, &v1::ViewsRequest::mutable_time_ns, out);
  *out->mutable_ranks() = {options.ranks.begin(), options.ranks.end()};
  out->set_kernels(options.kernels);
  out->set_nvtx(options.nvtx);
  if (options.capture) {
    out->set_capture(*options.capture);
  }
  out->set_capture_last(options.capture_last);
  out->set_one_run(options.one_run);
  out->set_group_by(static_cast<uint32_t>(options.group_by));
  if (options.layout) out->set_layout(options.layout->Text());
  if (options.instances) {
    out->set_instances(*options.instances);
  }
  out->set_sort(options.sort);
  for (const FamilyWord& word : options.families) {
    v1::FamilyWord* entry = out->add_families();
    entry->set_family(word.family);
    entry->set_text(word.text);
  }
  if (options.limit) {
    out->set_limit(*options.limit);
  }
}

absl::StatusOr<AnalysisOptions> FromProto(const v1::ViewsRequest& request) {
  if (request.group_by() > static_cast<uint32_t>(GroupBy::kCategory)) {
    return absl::InvalidArgumentError(fmt::format("group_by {} is unknown to this release", request.group_by()));
  }
  if (request.families_size() > kMaxFamilyWords) {
    return absl::InvalidArgumentError(
        fmt::format("families: {} lines, at most {} are accepted", request.families_size(), kMaxFamilyWords));
  }
  AnalysisOptions options;
  options.views.assign(request.views().begin(), request.views().end());
  options.steps = BoundsOfRange(request.has_steps(), request.steps());
  options.time_ns = BoundsOfRange(request.has_time_ns(), request.time_ns());
  options.ranks.assign(request.ranks().begin(), request.ranks().end());
  options.kernels = request.kernels();
  options.nvtx = request.nvtx();
  options.capture = request.has_capture() ? std::optional<int32_t>(request.capture()) : std::nullopt;
  options.capture_last = request.capture_last();
  options.one_run = request.one_run();
  options.group_by = static_cast<GroupBy>(request.group_by());
  if (!request.layout().empty()) {
    LOCKSTEP_ASSIGN_OR_RETURN(options.layout, ParallelLayout::Parse(request.layout()));
  }
  options.instances = request.has_instances() ? std::optional<int64_t>(request.instances()) : std::nullopt;
  options.sort = request.sort();
  for (const v1::FamilyWord& word : request.families()) options.families.push_back({word.family(), word.text()});
  options.limit = request.has_limit() ? std::optional<int64_t>(request.limit()) : std::nullopt;
  return options;
}

void ToProto(const RunInfo& run, v1::Run* out) {
  out->set_name(run.name);
  out->set_state(std::string(Name(run.state)));
  out->set_expected_ranks(run.expected_ranks);
  out->set_finished_by_hand(run.finished_by_hand);
  out->set_sources(run.sources);
  out->set_complete_sources(run.complete_sources);
  out->set_revision(run.revision);
  out->set_changed_unix_ns(run.changed_unix_ns);
  for (const std::string& name : run.baselines) out->add_baselines(name);
}

absl::StatusOr<RunInfo> FromProto(const v1::Run& run) {
  RunInfo info{.name = run.name(),
               .state = RunState::kOpen,
               .expected_ranks = run.expected_ranks(),
               .finished_by_hand = run.finished_by_hand(),
               .sources = run.sources(),
               .complete_sources = run.complete_sources(),
               .baselines = {run.baselines().begin(), run.baselines().end()},
               .revision = run.revision(),
               .changed_unix_ns = run.changed_unix_ns()};
  for (const RunState state : {RunState::kOpen, RunState::kComplete, RunState::kAnalysed}) {
    if (run.state() == Name(state)) {
      info.state = state;
      return info;
    }
  }
  return absl::InvalidArgumentError(
      fmt::format("run {}: state '{}' is unknown to this release", run.name(), run.state()));
}

void ToProto(const PruneRequest& request, v1::Prune* out) {
  if (request.older_than_ns) {
    out->set_older_than_ns(*request.older_than_ns);
  }
  if (request.keep_bytes) {
    out->set_keep_bytes(*request.keep_bytes);
  }
  out->set_dry_run(request.dry_run);
}

PruneRequest FromProto(const v1::Prune& request) {
  return {.older_than_ns = request.has_older_than_ns() ? std::optional<int64_t>(request.older_than_ns()) : std::nullopt,
          .keep_bytes = request.has_keep_bytes() ? std::optional<int64_t>(request.keep_bytes()) : std::nullopt,
          .dry_run = request.dry_run()};
}

void ToProto(const PruneVerdict& verdict, v1::PruneVerdict* out) {
  out->set_run(verdict.run);
  out->set_bytes(verdict.bytes);
  out->set_changed_unix_ns(verdict.changed_unix_ns);
  out->set_removed(verdict.removed);
  out->set_reason(verdict.reason);
}

PruneVerdict FromProto(const v1::PruneVerdict& verdict) {
  return {.run = verdict.run(),
          .bytes = verdict.bytes(),
          .changed_unix_ns = verdict.changed_unix_ns(),
          .removed = verdict.removed(),
          .reason = verdict.reason()};
}

}  // namespace lockstep
