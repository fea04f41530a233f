// One event of traceEvents to records of the sink. Thread rule: one thread.
#pragma once

#include <absl/status/status.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "agent/readers/kineto/collective_args.h"
#include "agent/readers/kineto/fields.h"
#include "agent/readers/kineto/json_scanner.h"
#include "agent/readers/kineto/process_labels.h"
#include "agent/readers/record_sink.h"

namespace lockstep::kineto {

// The members of an event as they stand in the text; of duplicate keys the last.
struct RawEvent {
  JsonToken phase;
  JsonToken category;
  JsonToken name;
  JsonToken time;
  JsonToken duration;
  JsonToken pid;
  JsonToken tid;
  JsonToken args;
};
// Scans the event that starts at the scanner's next significant byte.
Scan ScanEvent(JsonScanner& scanner, RawEvent& event);

// Rows of each process, fed with pids as they stand in the trace: mostly the one of the row before.
class ProcessCounts {
 public:
  void Count(std::string_view pid);
  [[nodiscard]] size_t size() const { return rows_.size(); }
  // The process with the most rows; the smaller pid on a tie; -1 without any.
  [[nodiscard]] int64_t MostFrequent() const;

 private:
  std::map<int64_t, int64_t> rows_;
  std::string last_text_;
  int64_t* last_ = nullptr;  // into rows_; none for what is no pid
};

class EventDecoder {
 public:
  // The sink must outlive the decoder. `step_range`: the annotation that marks steps, "" = ProfilerStep.
  EventDecoder(RecordSink& sink, std::string step_range);

  // `offset`: where the event stands, for the drop counters. Errors are the sink's.
  absl::Status Decode(const RawEvent& event, int64_t offset);
  // After the last event: fills the process, the capture window and the counters of the context.
  void Finish();

  [[nodiscard]] int64_t events() const { return events_; }
  // Complete events of a category that Kineto writes, and of any other.
  [[nodiscard]] int64_t known_rows() const { return known_rows_; }
  [[nodiscard]] int64_t foreign_rows() const { return foreign_rows_; }

 private:
  struct Times {
    int64_t start_ns = 0;
    int64_t duration_ns = 0;
  };
  // As far as they are numbers.
  struct StatedTimes {
    std::optional<int64_t> start_ns;
    std::optional<int64_t> duration_ns;
  };

  absl::Status Complete(const RawEvent& event);
  absl::Status Instant(const RawEvent& event);
  absl::Status Device(const RawEvent& event, DeviceKind kind);
  absl::Status Sync(const RawEvent& event);
  absl::Status Api(const RawEvent& event, bool is_driver);
  absl::Status HostRow(const RawEvent& event, Category category);
  absl::Status Collective(const RawEvent& event);
  // `label`: what the range is called instead of by its own name.
  absl::Status Range(const RawEvent& event, HostKind kind, int64_t step_number, std::string_view label = {});
  void Overhead();

  Category Classify(const JsonToken& category);
  // Times of a row that becomes a record; counts and gives nothing when they are unusable.
  std::optional<Times> UsableTimes(int64_t longest_ns);
  // Widens the capture window and counts the process.
  void NoteHostRow();
  void ReadArgs(const RawEvent& event);
  void SetLaunchShape(DeviceRecord& record);
  void SetCopy(const RawEvent& event, DeviceRecord& record);
  template <typename Record>
  void SetCorrelation(Record& record) const;
  template <typename Record>
  void SetCollectiveIds(Record& record) const;
  [[nodiscard]] int32_t DeviceOf() const;
  [[nodiscard]] int32_t StreamOf(const RawEvent& event) const;
  NameId Name(const JsonToken& token);
  void Drop(DropReason reason) { sink_.Drop(reason, offset_); }

  RecordSink& sink_;
  const std::string step_range_;
  ProcessLabels labels_;
  uint32_t process_ = 0;         // of the event at hand
  std::string_view pid_number_;  // likewise
  int64_t offset_ = 0;
  StatedTimes stated_;  // of the event at hand
  Args args_;
  std::string last_category_text_;
  Category last_category_ = Category::kUnknown;
  // By process of the file: which ids own its rows.
  struct RowOwners {
    ProcessCounts runtime;
    ProcessCounts host;
  };
  std::map<uint32_t, RowOwners> owners_;
  bool has_capture_ = false;
  int64_t capture_start_ns_ = 0;
  int64_t capture_end_ns_ = 0;
  int64_t events_ = 0;
  int64_t known_rows_ = 0;
  int64_t foreign_rows_ = 0;
};

}  // namespace lockstep::kineto
