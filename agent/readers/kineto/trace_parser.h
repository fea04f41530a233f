// One pass over the bytes of a Kineto trace, whatever their size: finds the keys around the events, cuts the events one
// by one out of a sliding window, and goes on at the next sound place after a damaged one. Thread rule: one thread, one
// use.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/readers/kineto/event_decoder.h"
#include "agent/readers/kineto/json_scanner.h"
#include "agent/readers/kineto/window.h"
#include "agent/readers/record_sink.h"
#include "agent/readers/trace_reader.h"
#include "platform/byte_source.h"

namespace lockstep::kineto {

// An event may be this many windows long before it is skipped as oversize.
inline constexpr int64_t kMaxWindowGrowth = 16;

class TraceParser {
 public:
  // Source, options and sink must outlive the parser. `label` names the file in messages.
  TraceParser(ByteSource& source, std::string label, const ReadOptions& options, RecordSink& sink);

  // As TraceReader::Read.
  absl::StatusOr<ReadResult> Run();

 private:
  enum class Step : uint8_t { kOk, kBroken, kOversize, kTruncated };
  static constexpr int kEndOfBytes = -1;

  void ReadTopLevel();
  void ReadMember();
  void ReadMemberValue(const std::string& key);
  void ReadMetadata(const std::string& key);
  void ReadEvents();
  void ReadEvent();
  // After the closing brace of the file: false if there is really no more. A false end of the events (see resync.h)
  // shows by events that follow it.
  bool EventsFollow();
  void SkipValue();
  void ResyncEvents();
  void ResyncKeys();

  // Scans with `scan(JsonScanner&)` at the front of the window, which grows as needed; nothing is consumed. used_ is
  // then the length scanned (kOk) or where a new start may be sought (kBroken).
  template <typename ScanFunction>
  Step ScanAtFront(ScanFunction&& scan);
  // Next significant byte, not consumed.
  int Significant();
  Window::Fill Fill();
  void SkipByteOrderMark();

  void Broken();
  void Truncated();
  [[nodiscard]] bool going() const { return status_.ok() && !ended_; }
  absl::StatusOr<ReadResult> Finish();
  absl::Status Unusable() const;
  [[nodiscard]] std::string DamageText() const;
  void NoteDamage(int64_t offset) { damage_offset_ = damage_offset_ < 0 ? offset : damage_offset_; }

  ByteSource& source_;
  const std::string label_;
  const ReadOptions& options_;
  RecordSink& sink_;
  Window window_;
  EventDecoder decoder_;
  absl::Status status_;
  size_t used_ = 0;
  bool ended_ = false;       // nothing more can be read
  bool truncated_ = false;   // the bytes ended inside something
  bool array_only_ = false;  // a bare array of events
  bool has_events_array_ = false;
  std::string first_bytes_;        // of a file that is no JSON at all
  std::vector<std::string> keys_;  // the first few, for messages
  int64_t broken_ = 0;
  int64_t damage_offset_ = -1;
};

}  // namespace lockstep::kineto
