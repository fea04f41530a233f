#include "analysis/report/rows/run.h"

#include "analysis/report/json.h"

namespace lockstep::report {
namespace {

class CaptureChoiceType final : public Type {
 public:
  Json ToJson(const void* value) const override {
    const auto& choice = *static_cast<const CaptureChoice*>(value);
    return choice.last ? Json(kLast) : Json(choice.number);
  }
  bool FromJson(const Json& json, void* value) const override {
    CaptureChoice choice;
    choice.last = json == kLast;
    if (!choice.last && !TypeOf<int32_t>().FromJson(json, &choice.number)) return false;
    *static_cast<CaptureChoice*>(value) = choice;
    return true;
  }
  Json Schema() const override { return {{"type", {"integer", "string"}}}; }
  std::string InWords() const override { return "integer, or \"last\""; }

 private:
  static constexpr const char* kLast = "last";
};

}  // namespace

const Type& TypeFor<CaptureChoice>::Get() {
  static const CaptureChoiceType type;
  return type;
}

const Record& NoticeRow::Fields() {
  using R = NoticeRow;
  static const Record record{
      "",
      "A remark about the data, or about how it was analysed.",
      {
          F<&R::view>("view", "View that the notice concerns; \"run\" if it concerns the selection as a whole."),
          F<&R::reason>("reason", "The remark, in words."),
      }};
  return record;
}

const Record& CaptureOfRun::Fields() {
  using R = CaptureOfRun;
  static const Record record{
      "",
      "One capture of the run.",
      {
          F<&R::ranks>("ranks", "Number of ranks that have a trace of this capture."),
          F<&R::start_unix_ns>("start_unix_ns",
                               "Earliest device activity in its traces, in Unix time by their own clocks."),
          F<&R::end_unix_ns>("end_unix_ns", "Latest end of device activity in its traces, likewise."),
      }};
  return record;
}

const Record& CapturesOfRun::Fields() {
  using R = CapturesOfRun;
  static const Record record{
      "",
      "The captures of a run that was recorded several times, one after the other.",
      {
          F<&R::all>("all", "All captures, in order of time."),
          F<&R::chosen>("chosen", "Index in all, from 0, of the capture that is analysed."),
          F<&R::asked>("asked",
                       "True if --capture chose it. False: it is the last of the captures that most ranks have."),
      }};
  return record;
}

const Record& LeftOutOfRun::Fields() {
  using R = LeftOutOfRun;
  static const Record record{
      "",
      "Sources that are left out because they repeat another one, belong to another capture, or have no device "
      "activity.",
      {
          F<&R::count>("count", "Number of such sources. A source is one device of one process in a trace file."),
          F<&R::path>("path", "File of the first of them."),
          F<&R::reason>("reason", "Why the first of them is left out."),
      }};
  return record;
}

const Record& SelectionOfRun::Fields() {
  using R = SelectionOfRun;
  static const Record record{
      "",
      "What the analysis is restricted to.",
      {
          F<&R::steps>("steps", "First and last step of --steps. Present if the option is given.").LeftOutIfNull(),
          F<&R::time>("time",
                      "Start and end of --time in ns since the run's start; the end itself is excluded. Present if the "
                      "option is given.")
              .LeftOutIfNull(),
          F<&R::ranks>("ranks", "Ranks of --ranks, ascending. Present if the option is given.").LeftOutIfNull(),
          F<&R::kernels>("kernels", "Regular expression of --kernels. Present if the option is given.").LeftOutIfNull(),
          F<&R::nvtx>("nvtx", "Name of the range of --nvtx. Present if the option is given.").LeftOutIfNull(),
          F<&R::capture>("capture", "Number of the capture, from 0, or \"last\". Present if --capture is given.")
              .LeftOutIfNull(),
      }};
  return record;
}

const Record& LayoutOfRun::Fields() {
  using R = LayoutOfRun;
  static const Record record{
      "",
      "Layout of the ranks by kind of parallelism, as --layout gives it.",
      {
          F<&R::tp>("tp", "Size of tensor parallelism. Present if it is given.").LeftOutIfNull(),
          F<&R::pp>("pp", "Size of pipeline parallelism. Present if it is given.").LeftOutIfNull(),
          F<&R::dp>("dp", "Size of data parallelism. Present if it is given.").LeftOutIfNull(),
          F<&R::ep>("ep", "Size of expert parallelism. Present if it is given.").LeftOutIfNull(),
          F<&R::cp>("cp", "Size of context parallelism. Present if it is given.").LeftOutIfNull(),
          F<&R::order>("order",
                       "The axes joined by \"-\", from the one that varies fastest between neighbouring ranks. Present "
                       "if it is given; the default is tp-cp-ep-dp-pp.")
              .LeftOutIfNull(),
      }};
  return record;
}

const Record& Run::Fields() {
  using R = Run;
  static const Record record{
      "",
      "The run that the report is of: which ranks of it are here, and what the analysis is restricted to.",
      {
          F<&R::name>("name", "Name of the run."),
          F<&R::state>("state",
                       "\"open\" while traces may still arrive, \"complete\" once all have, \"analysed\" once the "
                       "complete run has been analysed."),
          F<&R::ranks>("ranks", "Number of ranks that are analysed; --ranks restricts them."),
          F<&R::hosts>("hosts", "Number of hosts of these ranks. Null if the host of no rank is known."),
          F<&R::world_size>("world_size", "Number of ranks of the whole job. Null if no trace states it."),
          F<&R::missing_ranks>("missing_ranks",
                               "Ranks of the job without an analysed trace, ascending. Without world_size the job is "
                               "taken to have --expect-ranks ranks, or else to end with the highest rank found."),
          F<&R::start_unix_ns>("start_unix_ns",
                               "The run's start: the earliest device activity of any rank, in Unix time on the aligned "
                               "clock. 0 without any device activity."),
          F<&R::span_ns>("span_ns", "Time from the run's start to the last end of device activity on any rank."),
          F<&R::lockstep_version>("lockstep_version", "Version of lockstep that made the report."),
          F<&R::captures>("captures", "The captures of the run. Null if it has only one.").Later(),
          F<&R::left_out>("left_out", "Sources that are left out. Null if there are none.").Later(),
          F<&R::clocks_apart_ns>("clocks_apart_ns",
                                 "Largest gap between the times of the traces, where they share no common time but are "
                                 "taken as one run with wrong clocks. Null otherwise.")
              .Later(),
          F<&R::analysed>("analysed", "What the analysis is restricted to. Null if the whole run is analysed."),
          F<&R::layout>("layout", "Layout of the ranks. Null without --layout."),
          F<&R::layout_source>("layout_source", "\"option\" if the layout is from --layout. Null without --layout."),
      }};
  return record;
}

}  // namespace lockstep::report
