// Perfetto's own format: a file of TrackEvent packets (https://perfetto.dev/docs/reference/synthetic-track-event).
//
// One sequence of packets; names are interned in it, each before its first use. Times are readings of BOOTTIME since
// the begin of the run, and a snapshot says which UTC that is. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/export/perfetto/proto_writer.h"
#include "analysis/export/perfetto/timeline_format.h"

namespace lockstep::perfetto {

class PerfettoFormat : public TimelineFormat {
 public:
  void Begin(const Timeline& timeline, std::string& out) override;
  void AddProcess(const Track& process, const ExportedRank& about, std::string& out) override;
  void AddTrack(const Track& track, std::string& out) override;
  void BeginSlice(const Track& track, const Slice& slice, std::string& out) override;
  void EndSlice(const Track& track, int64_t time_ns, std::string& out) override;
  void AddSample(const Track& track, int64_t time_ns, int64_t value, std::string& out) override;
  void End(std::string& out) override;

 private:
  void InternNames(const Slice& slice, ProtoWriter& proto);
  // The number of a name in one of the two tables; 0: it has none yet and gets the next one.
  static bool IsNew(uint32_t name, std::vector<uint32_t>& iids, uint32_t& next);

  const Timeline* timeline_ = nullptr;
  std::vector<uint32_t> event_iids_;  // by place in the names; 0: not interned
  std::vector<uint32_t> string_iids_;
  uint32_t next_event_iid_ = 1;
  uint32_t next_string_iid_ = 1;
};

}  // namespace lockstep::perfetto
