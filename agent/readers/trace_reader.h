// A trace format: how it is told by content and how a file of it is read. A new format is one folder and one row in
// reader_registry.cc.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "agent/readers/record_sink.h"

namespace lockstep {

struct ReadOptions {
  std::string step_range;                   // NVTX range or annotation that marks steps; "" = ProfilerStep
  int64_t window_bytes = int64_t{1} << 20;  // reader's window; an event larger than it is skipped lexically
  // Called now and then with (bytes or rows done, total or -1); false = stop, the reader returns kCancelled.
  std::function<bool(int64_t, int64_t)> progress;
};

enum class ReadOutcome : uint8_t {
  kWhole = 0,
  kPartial = 1,  // damaged: what stands before (or around) the damage was read and counted
};

struct ReadResult {
  ReadOutcome outcome = ReadOutcome::kWhole;
  std::string reason;          // why partial, for people
  int64_t damage_offset = -1;  // byte offset or row id of the first damage, -1 = none
};

class TraceReader {
 public:
  virtual ~TraceReader() = default;
  // Reads the whole file into the sink, bounded in memory. Errors: kInvalidArgument (not usable; the message names
  // file, place, what was met and what to do), kPermissionDenied, kNotFound, kCancelled, or what the sink returned.
  virtual absl::StatusOr<ReadResult> Read(const std::string& path, const ReadOptions& options, RecordSink& sink) = 0;
};

struct TraceFormat {
  std::string_view name;  // "kineto", "nsys"
  // Certainty that the head of a file (after inflating when it is gzip) is of this format: 0 = no, 1 = maybe, 2 = yes.
  int (*sniff)(std::string_view head, bool was_gzip);
  std::unique_ptr<TraceReader> (*create)();
};

// The visible list of built-in formats.
[[nodiscard]] std::span<const TraceFormat> BuiltinFormats();

enum class FileVerdict : uint8_t { kTrace, kNotATrace, kUnreadable };
struct Detection {
  FileVerdict verdict = FileVerdict::kNotATrace;
  const TraceFormat* format = nullptr;  // set with kTrace
  std::string reason;                   // for the other verdicts: what it is, what to do
};
// Looks at the first 64 KiB (inflated) of a file.
[[nodiscard]] Detection DetectFormat(const std::string& path);

}  // namespace lockstep
