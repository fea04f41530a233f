#include "cli/timeline/timeline_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "analysis/base/rank_list.h"
#include "analysis/base/status_macros.h"
#include "analysis/base/unit_text.h"
#include "analysis/base/version.h"
#include "analysis/export/perfetto/chrome_format.h"
#include "analysis/export/perfetto/perfetto_format.h"
#include "analysis/export/perfetto/timeline_writer.h"
#include "analysis/metrics/fleet/fleet.h"
#include "cli/timeline/rank_labels.h"
#include "platform/executor.h"

namespace lockstep {
namespace {

using perfetto::CollectiveEvent;
using perfetto::EventBytes;
using perfetto::SampleEvent;
using perfetto::SliceEvent;
using perfetto::SliceKind;
using perfetto::StepEvent;

class TimelineExport {
 public:
  TimelineExport(const LoadedRun& run, const TimelineInput& input, const TimelineOptions& asked,
                 TimelineFormatKind format, const TimelineSink& sink, const std::stop_token& stop)
      : run_(run),
        input_(input),
        asked_(asked),
        kind_(format),
        sink_(sink),
        stop_(stop),
        bytes_(format == TimelineFormatKind::kChrome ? perfetto::ChromeBytes() : EventBytes{}) {}

  absl::StatusOr<TimelineResult> Run() {
    {
      const auto waiting = Waiting("matching the collectives");
      ThreadPool threads(input_.reading.jobs);
      LOCKSTEP_ASSIGN_OR_RETURN(events_, CollectRunEvents(run_, asked_, CollectOptions(), names_, threads, stop_));
    }
    const std::vector<uint32_t> places = KernelRanks(events_, input_.named, asked_.kernels);
    Plan(places);
    LOCKSTEP_RETURN_IF_ERROR(TakeKernels(places));
    const auto waiting = Waiting("writing the timeline");
    LOCKSTEP_RETURN_IF_ERROR(Write());
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::shared_ptr<void> Waiting(std::string what) const {
    return input_.waiting ? input_.waiting(std::move(what)) : nullptr;
  }

  RunEventsOptions CollectOptions() const {
    return {.tmp_dir = input_.reading.condense.tmp_dir,
            .memory_bytes = input_.reading.memory_bytes / 2,
            .expected_ranks = run_.data.info.expected_ranks};
  }

  void LeaveOut(std::string what) { result_.left_out.push_back(std::move(what)); }

  // Kernels have a part of the room for themselves: without any a timeline of many collectives would not tell why a
  // rank is late.
  void Plan(const std::vector<uint32_t>& places) {
    constexpr int64_t kParts = 10;
    constexpr int64_t kForKernels = 3;
    int64_t kernels = 0;
    const std::vector<int64_t> counts = EventsOfPlaces();
    for (const uint32_t place : places) kernels += counts[place];
    const int64_t reserved = std::min(kernels * bytes_.kernel, asked_.limit_bytes / kParts * kForKernels);
    plan_ = PlanTimeline(events_.sizes, asked_.limit_bytes - reserved, bytes_);
    plan_.bytes_left += reserved;
    TellOfPlan();
  }

  void TellOfPlan() {
    if (!plan_.idle) LeaveOut("the counters of idle time");
    if (!plan_.lateness) LeaveOut("the counters of lateness");
    if (plan_.detail == perfetto::Detail::kBrief) LeaveOut("most of what annotations say of collectives");
    if (plan_.collectives_left_out > 0) {
      LeaveOut(fmt::format("collectives in which the ranks waited less than {} together ({} of {} records)",
                           TimeText(plan_.least_wait_ns), CountText(plan_.collectives_left_out),
                           CountText(events_.sizes.collectives)));
    }
  }

  const SourceData& SourceOf(size_t rank_index) const {
    return run_.data.sources[events_.ranks.ranks[rank_index].source];
  }

  // Kernels and copies by place; with a selection so many as there is time or steps of it.
  std::vector<int64_t> EventsOfPlaces() const {
    std::vector<int64_t> counts;
    for (size_t i = 0; i < events_.places.size(); ++i) {
      if (events_.places[i] == kNoId) continue;
      const SourceContext& context = SourceOf(i).context;
      const double all = static_cast<double>(context.kernels - context.collectives + context.memcpys + context.memsets);
      counts.push_back(static_cast<int64_t>(std::max(0.0, all * SelectedPart(i))));
    }
    return counts;
  }

  double SelectedPart(size_t rank_index) const {
    double part = 1;
    if (asked_.time_ns) {
      const auto span = static_cast<double>(std::max<int64_t>(1, events_.end_ns - events_.start_ns));
      part *= std::min(1.0, static_cast<double>(asked_.time_ns->second - asked_.time_ns->first) / span);
    }
    if (!asked_.steps) return part;
    double kernels = 0;
    double selected = 0;
    for (const StepRow& row : SourceOf(rank_index).steps) {
      kernels += static_cast<double>(row.kernels);
      if (row.step >= asked_.steps->first && row.step <= asked_.steps->second) {
        selected += static_cast<double>(row.kernels);
      }
    }
    return kernels > 0 ? part * selected / kernels : part;
  }

  // Rank indices, ascending.
  std::vector<size_t> IndicesOf(const std::vector<uint32_t>& places) const {
    std::vector<bool> is_in(events_.places.size(), false);
    for (const uint32_t place : places) is_in[place] = true;
    std::vector<size_t> indices;
    for (size_t i = 0; i < events_.places.size(); ++i) {
      if (events_.places[i] != kNoId && is_in[events_.places[i]]) indices.push_back(i);
    }
    return indices;
  }

  std::vector<int32_t> RanksAt(const std::vector<uint32_t>& places) const {
    std::vector<int32_t> ranks;
    for (const size_t i : IndicesOf(places)) ranks.push_back(events_.ranks.ranks[i].rank);
    return ranks;
  }

  absl::Status TakeKernels(std::vector<uint32_t> places) {
    if (!input_.has_traces) return TakeLongest(places);
    const size_t fitting = FittingRanks(places, EventsOfPlaces(), plan_.bytes_left / bytes_.kernel);
    if (fitting < places.size()) {
      LeaveOut(
          fmt::format("the kernels of {}, to stay below the size limit",
                      FoldedRanks(RanksAt({places.begin() + static_cast<std::ptrdiff_t>(fitting), places.end()}))));
      places.resize(fitting);
    }
    kernels_of_ = places.empty() ? "none" : fmt::format("of {}", FoldedRanks(RanksAt(places)));
    if (places.size() < RankCount() && fitting == places.size() && asked_.kernels == KernelsWanted::kCulprits) {
      kernels_of_ += "; --kernels all adds the others";
    }
    if (places.empty()) return absl::OkStatus();
    LOCKSTEP_ASSIGN_OR_RETURN(KernelEvents kernels, ReadKernels(run_.data, events_, asked_, IndicesOf(places),
                                                                input_.reading, names_, stop_));
    for (const std::string& file : kernels.unread_files) LeaveOut("kernels of " + file);
    ChooseLength(kernels.lengths, plan_.bytes_left - kernels.gaps * bytes_.kernel);
    return slices_.Open(std::move(kernels.sorters));
  }

  size_t RankCount() const {
    return static_cast<size_t>(
        std::count_if(events_.places.begin(), events_.places.end(), [](uint32_t place) { return place != kNoId; }));
  }

  void ChooseLength(const perfetto::LengthCounts& lengths, int64_t room_bytes) {
    least_length_ns_ = lengths.LeastFor(std::max<int64_t>(0, room_bytes) / bytes_.kernel);
    if (least_length_ns_ == 0) return;
    const int64_t left_out = lengths.total() - lengths.CountFrom(least_length_ns_);
    LeaveOut(fmt::format("kernels shorter than {} ({} of {})", TimeText(least_length_ns_), CountText(left_out),
                         CountText(lengths.total())));
  }

  // What a store keeps of kernels: the longest instances of each.
  absl::Status TakeLongest(const std::vector<uint32_t>& places) {
    kernels_of_ = "only the longest ones, which a store keeps; export the folder of the traces to have all";
    if (asked_.kernels == KernelsWanted::kNone || places.empty()) {
      kernels_of_ = "none";
      return absl::OkStatus();
    }
    auto sorter =
        std::make_unique<EventSorter<SliceEvent>>(input_.reading.condense.tmp_dir, input_.reading.memory_bytes / 4);
    perfetto::LengthCounts lengths;
    for (const size_t i : IndicesOf(places)) LOCKSTEP_RETURN_IF_ERROR(AddLongestOf(i, *sorter, lengths));
    ChooseLength(lengths, plan_.bytes_left);
    std::vector<std::unique_ptr<EventSorter<SliceEvent>>> sorters;
    sorters.push_back(std::move(sorter));
    return slices_.Open(std::move(sorters));
  }

  absl::Status AddLongestOf(size_t rank_index, EventSorter<SliceEvent>& sorter, perfetto::LengthCounts& lengths) {
    uint32_t ordinal = 0;
    for (const KernelRow& row : SourceOf(rank_index).kernels) {
      if (row.kind.category == Category::kCommunication) continue;
      for (const Exemplar& longest : row.longest) {
        SliceEvent event;
        const int64_t length_ns = std::clamp<int64_t>(longest.duration_ns, 0, kMaxAbsTimeNs);
        const int64_t begin_ns = std::clamp(longest.start_ns, -kMaxAbsTimeNs, kMaxAbsTimeNs);
        event.start_ns = events_.Aligned(rank_index, begin_ns);
        event.duration_ns = std::max<int64_t>(0, events_.Aligned(rank_index, begin_ns + length_ns) - event.start_ns);
        event.step = longest.step;
        if (!events_.Selects(asked_, event.start_ns, event.start_ns + event.duration_ns, event.step)) continue;
        event.rank = events_.places[rank_index];
        event.name = names_.Id(NameOf(run_.data, row.name));
        event.ordinal = ordinal++;
        event.kind = SliceKind::kLongest;
        lengths.Add(event.duration_ns);
        LOCKSTEP_RETURN_IF_ERROR(sorter.Add(event));
      }
    }
    return absl::OkStatus();
  }

  perfetto::Timeline MakeTimeline() {
    perfetto::Timeline timeline;
    timeline.run = input_.run;
    constexpr int64_t kYearNs = 365 * 24 * kNsPerHour;  // earlier times are since a machine's start
    timeline.start_unix_ns = events_.start_ns > kYearNs ? events_.start_ns : 0;
    timeline.duration_ns = events_.end_ns - events_.start_ns;
    timeline.ranks = ExportedRanks(run_.data, events_, input_.named);
    timeline.names = names_.Take();
    result_.ranks = timeline.ranks.size();
    timeline.about = {{"run", input_.run}, {"written by", fmt::format("lockstep {}", Version())}};
    if (timeline.start_unix_ns > 0) {
      timeline.about.emplace_back("begins at Unix ns", fmt::format("{}", timeline.start_unix_ns));
    }
    timeline.about.emplace_back("ranks", fmt::format("{} of {}", result_.ranks, events_.ranks.ranks.size()));
    timeline.about.emplace_back("clocks", ClocksInWords(events_));
    timeline.about.emplace_back("kernels", kernels_of_);
    for (size_t i = 0; i < result_.left_out.size(); ++i) {
      timeline.about.emplace_back(i == 0 ? "left out" : fmt::format("left out ({})", i + 1), result_.left_out[i]);
    }
    return timeline;
  }

  absl::Status Write() {
    std::unique_ptr<perfetto::TimelineFormat> format;
    if (kind_ == TimelineFormatKind::kChrome) {
      format = std::make_unique<perfetto::ChromeFormat>();
    } else {
      format = std::make_unique<perfetto::PerfettoFormat>();
    }
    perfetto::TimelineWriter writer(MakeTimeline(), *format, {.detail = plan_.detail, .lateness = plan_.lateness},
                                    sink_);
    LOCKSTEP_RETURN_IF_ERROR(writer.Begin());
    LOCKSTEP_RETURN_IF_ERROR(Merge(writer));
    LOCKSTEP_RETURN_IF_ERROR(writer.End());
    result_.slices = writer.slices();
    result_.bytes = writer.written_bytes();
    if (writer.left_out() > 0) {
      LeaveOut(fmt::format("{} slices that overlap with more than {} others of their stream",
                           CountText(writer.left_out()), perfetto::TrackTable::kMostLanes));
    }
    return absl::OkStatus();
  }

  template <typename Event>
  static absl::Status OpenOne(std::unique_ptr<EventSorter<Event>> sorter, SortedEvents<Event>& events) {
    std::vector<std::unique_ptr<EventSorter<Event>>> sorters;
    sorters.push_back(std::move(sorter));
    return events.Open(std::move(sorters));
  }

  absl::Status Merge(perfetto::TimelineWriter& writer) {
    SortedEvents<StepEvent> steps;
    SortedEvents<SampleEvent> samples;
    SortedEvents<CollectiveEvent> collectives;
    LOCKSTEP_RETURN_IF_ERROR(OpenOne(std::move(events_.steps), steps));
    LOCKSTEP_RETURN_IF_ERROR(OpenOne(std::move(events_.samples), samples));
    LOCKSTEP_RETURN_IF_ERROR(OpenOne(std::move(events_.collectives), collectives));
    constexpr int64_t kLookEvery = 1 << 16;  // for a stop
    for (int64_t done = 0;; ++done) {
      if (done % kLookEvery == 0 && stop_.stop_requested()) {
        return absl::CancelledError("stopped before the timeline was written");
      }
      const int64_t least = std::min({TimeOf(steps), TimeOf(samples), TimeOf(collectives), TimeOf(slices_)});
      if (least == INT64_MAX) return absl::OkStatus();
      if (TimeOf(steps) == least) {
        LOCKSTEP_RETURN_IF_ERROR(Move(steps, writer));
      } else if (TimeOf(samples) == least) {
        LOCKSTEP_RETURN_IF_ERROR(Move(samples, writer));
      } else if (TimeOf(collectives) == least) {
        LOCKSTEP_RETURN_IF_ERROR(Move(collectives, writer));
      } else {
        LOCKSTEP_RETURN_IF_ERROR(Move(slices_, writer));
      }
    }
  }

  template <typename Event>
  static int64_t TimeOf(const SortedEvents<Event>& events) {
    return events.empty() ? INT64_MAX : events.front().start_ns;
  }

  [[nodiscard]] bool IsLeftOut(const SliceEvent& event) const {
    return event.kind != SliceKind::kGap && event.duration_ns < least_length_ns_;
  }
  [[nodiscard]] bool IsLeftOut(const CollectiveEvent& event) const {
    return event.instance_wait_ns < plan_.least_wait_ns;
  }
  [[nodiscard]] static bool IsLeftOut(const StepEvent& /*event*/) { return false; }
  [[nodiscard]] bool IsLeftOut(const SampleEvent& /*event*/) const { return !plan_.idle; }

  template <typename Event>
  absl::Status Move(SortedEvents<Event>& events, perfetto::TimelineWriter& writer) {
    if (!IsLeftOut(events.front())) {
      Event event = events.front();
      SinceStart(event);
      LOCKSTEP_RETURN_IF_ERROR(writer.Add(event));
    }
    return events.Pop();
  }

  // What begins before the first activity of a device does so by the rounding of clocks only.
  [[nodiscard]] int64_t SinceStart(int64_t time_ns) const { return std::max<int64_t>(0, time_ns - events_.start_ns); }
  template <typename Event>
  void SinceStart(Event& event) const {
    event.start_ns = SinceStart(event.start_ns);
    if constexpr (std::is_same_v<Event, CollectiveEvent>) {
      event.arrival_ns = SinceStart(event.arrival_ns);
      event.last_start_ns = SinceStart(event.last_start_ns);
    }
  }

  const LoadedRun& run_;
  const TimelineInput& input_;
  const TimelineOptions& asked_;
  const TimelineFormatKind kind_;
  const TimelineSink& sink_;
  const std::stop_token& stop_;
  const EventBytes bytes_;
  NameTable names_;
  RunEvents events_;
  perfetto::TimelinePlan plan_;
  SortedEvents<SliceEvent> slices_;
  int64_t least_length_ns_ = 0;
  std::string kernels_of_;
  TimelineResult result_;
};

}  // namespace

absl::StatusOr<TimelineResult> ExportTimeline(const LoadedRun& run, const TimelineInput& input,
                                              const TimelineOptions& asked, TimelineFormatKind format,
                                              const TimelineSink& sink, const std::stop_token& stop) {
  return TimelineExport(run, input, asked, format, sink, stop).Run();
}

}  // namespace lockstep
