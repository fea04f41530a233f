// Launch -> queue -> run by (API name, kernel name, launching thread), and launch delays by API name. Queue times are
// those of nsys's cuda_kern_exec_sum: kernel start - call end, only when not negative. Beyond kMaxKeys keys new ones
// are merged into one rest, and counted. One thread, no I/O.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "analysis/condense/activity.h"
#include "analysis/condense/file_interner.h"
#include "analysis/model/batch.h"
#include "analysis/stats/sketch_feed.h"

namespace lockstep {

class LaunchTable {
 public:
  static constexpr size_t kMaxKeys = 1'024;

  void Add(const ActivityRecord& kernel, DropCounters& drops);

  [[nodiscard]] Sketch DelayOf(NameId api);
  [[nodiscard]] std::vector<LaunchRow> TakeRows();

 private:
  using Key = std::tuple<NameId, NameId, int64_t>;
  struct Delay {
    Sketch sketch;
    SketchFeed feed;
  };
  struct Entry {
    LaunchRow row;
    SketchFeed total;
    SketchFeed api_time;
    SketchFeed queue;
    SketchFeed kernel_time;
    Delay* delay = nullptr;  // of the API
  };
  using Entries = std::map<Key, Entry>;

  Entry& EntryOf(const ActivityRecord& kernel, DropCounters& drops);

  static constexpr size_t kRecent = 256;

  Entries entries_;
  std::array<Entries::value_type*, kRecent> recent_{};  // by a hash of the key: most launches repeat
  std::map<NameId, Delay> delays_;
};

}  // namespace lockstep
