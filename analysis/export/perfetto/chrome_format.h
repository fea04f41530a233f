// The JSON of chrome://tracing, for viewers that read no other ("Trace Event Format"): complete events with times in
// microseconds with three decimals, which is to the nanosecond. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "analysis/export/perfetto/timeline_format.h"

namespace lockstep::perfetto {

class ChromeFormat : public TimelineFormat {
 public:
  void Begin(const Timeline& timeline, std::string& out) override;
  void AddProcess(const Track& process, const ExportedRank& about, std::string& out) override;
  void AddTrack(const Track& track, std::string& out) override;
  void BeginSlice(const Track& track, const Slice& slice, std::string& out) override;
  void EndSlice(const Track& track, int64_t time_ns, std::string& out) override;
  void AddSample(const Track& track, int64_t time_ns, int64_t value, std::string& out) override;
  void End(std::string& out) override;

 private:
  // Begins the next event and leaves its braces open.
  void BeginEvent(char phase, const Track& track, std::string& out);
  void AddMetadata(const Track& track, std::string_view what, std::string_view key, std::string_view value,
                   std::string& out);
  void AddFlow(const Track& track, int64_t time_ns, uint64_t flow, bool ends, std::string& out);

  const Timeline* timeline_ = nullptr;
  std::map<uint64_t, int32_t> places_;  // by uuid, of tracks that others lie below
  bool first_ = true;
};

// A text as a JSON string with its quotes. What is no UTF-8 is written as it is: the names of a timeline are.
void AppendJsonText(std::string_view text, std::string& out);

}  // namespace lockstep::perfetto
