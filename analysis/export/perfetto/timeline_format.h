// What a file format must be able to write; called by the TimelineWriter in order of time. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "analysis/export/perfetto/timeline.h"

namespace lockstep::perfetto {

// A line of the picture. Lanes of one stream have its name and lie below it.
struct Track {
  uint64_t uuid = 0;
  uint64_t parent = 0;  // uuid
  int32_t pid = 0;      // of the process that shows it
  int64_t tid = 0;      // differs from that of any other track
  int32_t place = 0;    // among its siblings
  TrackKind kind = TrackKind::kStream;
  bool is_thread = false;
  bool is_counter = false;
  std::string name;
  std::string unit;  // of a counter; "ns" is known to the viewers, and "" is a count
};

enum class Category : uint8_t { kStep, kCollective, kKernel, kCopy, kMemset, kGraph, kGap, kWait, kTransfer, kAbout };
inline constexpr size_t kCategories = 10;
[[nodiscard]] std::string_view Name(Category category);

// Keys of annotations.
enum class Key : uint8_t {
  kStep,
  kBytes,
  kGroup,
  kSequence,
  kKernel,
  kMembers,
  kWait,
  kWaitUncertainty,
  kLateness,
  kSpread,
  kSpreadUncertainty,
  kLastRank,
  kLastCertain,
  kLastArrival,
  kTransfer,
  kCompute,
  kCommunication,
  kExposedCommunication,
  kIdleHost,
  kIdleLaunch,
  kIdleDependency,
  kIdleOther,
};
inline constexpr size_t kKeys = 22;
[[nodiscard]] std::string_view Name(Key key);

struct Annotation {
  enum class Type : uint8_t { kNumber, kBool, kName };
  Key key = Key::kStep;
  Type type = Type::kNumber;
  int64_t value = 0;  // of kName the place in the names
};

struct Slice {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  uint32_t name = 0;  // place in the names
  Category category = Category::kKernel;
  std::span<const Annotation> annotations = {};
  uint64_t correlation = 0;  // 0: none
  uint64_t first_flow = 0;   // arrows that begin here
  uint32_t flows = 0;
  uint64_t flow_to_here = 0;  // 0: none
};

class TimelineFormat {
 public:
  virtual ~TimelineFormat() = default;
  // Borrows the timeline, to whose names the writer adds its own.
  virtual void Begin(const Timeline& timeline, std::string& out) = 0;
  // A process or track comes before its first event, and behind its parent.
  virtual void AddProcess(const Track& process, const ExportedRank& about, std::string& out) = 0;
  virtual void AddTrack(const Track& track, std::string& out) = 0;
  virtual void BeginSlice(const Track& track, const Slice& slice, std::string& out) = 0;
  virtual void EndSlice(const Track& track, int64_t time_ns, std::string& out) = 0;
  virtual void AddSample(const Track& track, int64_t time_ns, int64_t value, std::string& out) = 0;
  virtual void End(std::string& out) = 0;
};

}  // namespace lockstep::perfetto
