#include "cli/timeline/report_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "analysis/base/saturating.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/unit_text.h"
#include "analysis/base/version.h"
#include "analysis/export/perfetto/chrome_format.h"
#include "analysis/export/perfetto/perfetto_format.h"
#include "analysis/export/perfetto/size_plan.h"
#include "analysis/export/perfetto/timeline_writer.h"
#include "cli/timeline/name_table.h"
#include "cli/timeline/run_events.h"

namespace lockstep {
namespace {

using perfetto::CollectiveEvent;
using perfetto::StepEvent;

int64_t Later(int64_t a, int64_t b) { return std::max<int64_t>(0, a > b ? a - b : 0); }

class ReportTimeline {
 public:
  ReportTimeline(const report::Document& document, std::string run, const NamedRanks& named,
                 const TimelineOptions& asked)
      : document_(document), named_(named), asked_(asked) {
    timeline_.run = std::move(run);
    timeline_.start_unix_ns = std::max<int64_t>(0, document.run.start_unix_ns);
  }

  absl::StatusOr<TimelineResult> Write(TimelineFormatKind kind, const TimelineSink& sink) {
    AddRanks();
    AddSteps();
    AddCollectives();
    std::sort(steps_.begin(), steps_.end(), perfetto::InOrder());
    PartSteps();
    std::sort(collectives_.begin(), collectives_.end(), perfetto::InOrder());
    const bool chrome = kind == TimelineFormatKind::kChrome;
    plan_ = PlanTimeline(sizes_, asked_.limit_bytes, chrome ? perfetto::ChromeBytes() : perfetto::EventBytes{});
    Tell();
    std::unique_ptr<perfetto::TimelineFormat> format;
    if (chrome) {
      format = std::make_unique<perfetto::ChromeFormat>();
    } else {
      format = std::make_unique<perfetto::PerfettoFormat>();
    }
    timeline_.names = names_.Take();
    perfetto::TimelineWriter writer(std::move(timeline_), *format, {.detail = plan_.detail, .lateness = plan_.lateness},
                                    sink);
    LOCKSTEP_RETURN_IF_ERROR(Merge(writer));
    result_.slices = writer.slices();
    result_.bytes = writer.written_bytes();
    return std::move(result_);
  }

 private:
  // kNoId: not selected.
  uint32_t PlaceOf(int32_t rank) const {
    const auto found = places_.find(rank);
    return found == places_.end() ? kNoId : found->second;
  }

  void AddRanks() {
    for (const report::RankRow& row : *document_.ranks) {
      const bool selected =
          asked_.ranks.empty() || std::find(asked_.ranks.begin(), asked_.ranks.end(), row.rank) != asked_.ranks.end();
      if (!selected || !places_.emplace(row.rank, static_cast<uint32_t>(places_.size())).second) continue;
      perfetto::ExportedRank rank{.rank = row.rank, .name = fmt::format("rank {}", row.rank)};
      if (row.host) rank.name += " · " + *row.host;
      if (row.device && *row.device >= 0) rank.name += fmt::format(" · GPU {}", *row.device);
      const auto label = named_.labels.find(row.rank);
      if (label != named_.labels.end()) rank.labels.push_back(label->second);
      timeline_.ranks.push_back(std::move(rank));
    }
    result_.ranks = timeline_.ranks.size();
  }

  void AddSteps() {
    for (const report::StepRow& row : *document_.steps) {
      if (PlaceOf(row.rank) == kNoId) continue;
      StepEvent event{.start_ns = Later(row.start_ns, 0), .duration_ns = Later(row.span_ns, 0), .step = row.step};
      event.compute_ns = row.compute_ns;
      event.comm_ns = row.comm_ns;
      event.exposed_comm_ns = row.exposed_comm_ns;
      event.idle_host_ns = row.idle.host_ns;
      event.idle_launch_ns = row.idle.launch_ns;
      event.idle_dependency_ns = row.idle.dependency_ns;
      event.idle_other_ns = row.idle.other_ns;
      event.rank = PlaceOf(row.rank);
      event.name = names_.Id(fmt::format("step {}", row.step));
      steps_.push_back(event);
      ++sizes_.steps;
    }
  }

  // A report has the lengths of steps on the rank's own clock: by its drift one may reach into the next.
  void PartSteps() {
    std::map<uint32_t, StepEvent*> last;
    for (StepEvent& step : steps_) {
      StepEvent*& before = last[step.rank];
      if (before != nullptr) before->duration_ns = std::min(before->duration_ns, step.start_ns - before->start_ns);
      before = &step;
    }
  }

  void AddCollectives() {
    for (const report::SkewInstance& instance : document_.skew->instances) AddInstance(instance);
  }

  void AddInstance(const report::SkewInstance& instance) {
    CollectiveEvent shared;
    shared.instance = ++instances_;
    shared.comparable = instance.spread_ns.has_value();
    if (instance.spread_ns) shared.spread_ns = *instance.spread_ns;
    if (instance.uncertainty_ns) shared.uncertainty_ns = *instance.uncertainty_ns;
    if (instance.transfer_ns) shared.transfer_ns = *instance.transfer_ns;
    if (instance.bytes) shared.bytes = *instance.bytes;
    if (instance.seq) shared.seq = *instance.seq;
    if (instance.step) shared.step = *instance.step;
    if (instance.last_rank) shared.last_rank = *instance.last_rank;
    shared.last_certain = instance.last_certain;
    shared.members = static_cast<uint32_t>(instance.members.size());
    const std::string group = instance.communicator_name.value_or(instance.communicator_id);
    shared.group = names_.Id(group);
    shared.kernel = names_.Id("not in a report");
    shared.name = names_.Id(instance.op ? *instance.op + " · " + group : "collective · " + group);
    for (const report::SkewMember& member : instance.members) {
      if (member.wait_ns) shared.instance_wait_ns = AddStopping(shared.instance_wait_ns, *member.wait_ns);
      if (instance.last_rank == member.rank) shared.last_start_ns = Later(member.start_ns, 0);
    }
    std::vector<CollectiveEvent> members;
    for (const report::SkewMember& member : instance.members) {
      if (PlaceOf(member.rank) != kNoId) members.push_back(MemberOf(member, shared));
    }
    DrawArrows(members);
    for (const CollectiveEvent& event : members) {
      ++sizes_.collectives;
      if (event.waits()) ++sizes_.waits;
      collectives_.push_back(event);
    }
    sizes_.by_wait.Add(shared.instance_wait_ns, static_cast<int64_t>(members.size()));
  }

  CollectiveEvent MemberOf(const report::SkewMember& member, const CollectiveEvent& shared) const {
    CollectiveEvent event = shared;
    event.start_ns = Later(member.start_ns, 0);
    event.duration_ns = Later(member.end_ns, event.start_ns);
    event.rank = PlaceOf(member.rank);
    if (member.wait_ns) event.wait_ns = std::min<int64_t>(*member.wait_ns, event.duration_ns);
    if (member.wait_uncertainty_ns) event.wait_uncertainty_ns = *member.wait_uncertainty_ns;
    if (member.lateness_ns) event.lateness_ns = *member.lateness_ns;
    event.arrival_ns = event.start_ns + event.wait_ns;
    // A report does not say whom a member waits for: who came last, if its wait ends with that one's arrival.
    if (event.wait_ns > 0 && event.arrival_ns == shared.last_start_ns) event.awaited_rank = shared.last_rank;
    return event;
  }

  void DrawArrows(std::vector<CollectiveEvent>& members) {
    const auto from = std::find_if(members.begin(), members.end(), [&](const CollectiveEvent& event) {
      return timeline_.ranks[event.rank].rank == event.last_rank;
    });
    if (from == members.end()) return;
    std::vector<CollectiveEvent*> waiting;
    for (CollectiveEvent& event : members) {
      const bool ends_later = event.arrival_ns < event.start_ns + event.duration_ns;
      if (event.waits() && event.awaited_rank >= 0 && ends_later) waiting.push_back(&event);
    }
    if (members.size() > kMostArrows && waiting.size() > 1) {
      waiting = {*std::max_element(
          waiting.begin(), waiting.end(),
          [](const CollectiveEvent* a, const CollectiveEvent* b) { return a->wait_ns < b->wait_ns; })};
    }
    for (CollectiveEvent* event : waiting) {
      event->flow_to_here = ++flows_;
      if (from->flows++ == 0) from->first_flow = flows_;
    }
  }

  void Tell() {
    std::vector<std::string>& left_out = result_.left_out;
    left_out.emplace_back(
        "kernels, streams and idle time: an aggregator's report does not have them; export from the "
        "folder of the traces, or from the store on the aggregator's machine");
    if (!plan_.lateness) left_out.emplace_back("the counters of lateness");
    if (plan_.detail == perfetto::Detail::kBrief) left_out.emplace_back("most of what annotations say of collectives");
    if (plan_.collectives_left_out > 0) {
      left_out.push_back(fmt::format("collectives in which the ranks waited less than {} together ({} of {} records)",
                                     TimeText(plan_.least_wait_ns), CountText(plan_.collectives_left_out),
                                     CountText(sizes_.collectives)));
    }
    timeline_.about = {{"run", timeline_.run},
                       {"written by", fmt::format("lockstep {}", Version())},
                       {"ranks", fmt::format("{} of {}", result_.ranks, document_.ranks->size())}};
    for (size_t i = 0; i < left_out.size(); ++i) {
      timeline_.about.emplace_back(i == 0 ? "left out" : fmt::format("left out ({})", i + 1), left_out[i]);
    }
    for (const CollectiveEvent& event : collectives_) {
      timeline_.duration_ns = std::max(timeline_.duration_ns, event.start_ns + event.duration_ns);
    }
  }

  absl::Status Merge(perfetto::TimelineWriter& writer) {
    LOCKSTEP_RETURN_IF_ERROR(writer.Begin());
    size_t step = 0;
    for (const CollectiveEvent& event : collectives_) {
      for (; step < steps_.size() && steps_[step].start_ns <= event.start_ns; ++step) {
        LOCKSTEP_RETURN_IF_ERROR(writer.Add(steps_[step]));
      }
      if (event.instance_wait_ns >= plan_.least_wait_ns) LOCKSTEP_RETURN_IF_ERROR(writer.Add(event));
    }
    for (; step < steps_.size(); ++step) LOCKSTEP_RETURN_IF_ERROR(writer.Add(steps_[step]));
    return writer.End();
  }

  const report::Document& document_;
  const NamedRanks& named_;
  const TimelineOptions& asked_;
  perfetto::Timeline timeline_;
  NameTable names_;
  std::map<int32_t, uint32_t> places_;
  std::vector<StepEvent> steps_;
  std::vector<CollectiveEvent> collectives_;
  perfetto::TimelineSizes sizes_;
  perfetto::TimelinePlan plan_;
  TimelineResult result_;
  uint64_t instances_ = 0;
  uint64_t flows_ = 0;
};

}  // namespace

AnalysisOptions TimelineViews(const TimelineOptions& asked) {
  AnalysisOptions options;
  options.views = {"ranks", "steps", "skew"};
  options.instances = -1;
  options.ranks = asked.ranks;
  options.steps = asked.steps;
  options.time_ns = asked.time_ns;
  return options;
}

absl::StatusOr<TimelineResult> ExportReportTimeline(const report::Document& document, const std::string& run,
                                                    const NamedRanks& named, const TimelineOptions& asked,
                                                    TimelineFormatKind format, const TimelineSink& sink) {
  if (!document.ranks || !document.steps || !document.skew) {
    return absl::DataLossError("the aggregator's report lacks ranks, steps or skew: is it the same version?");
  }
  return ReportTimeline(document, run, named, asked).Write(format, sink);
}

}  // namespace lockstep
