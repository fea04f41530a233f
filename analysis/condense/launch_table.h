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
#include "analysis/model/host_rows.h"
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
  struct Distribution {
    Sketch sketch;
    SketchFeed feed;

    void Add(int64_t value) { feed.Add(value, sketch); }
    const Sketch& Whole() {
      feed.Flush(sketch);
      return sketch;
    }
  };
  struct Entry {
    LaunchRow row;  // without its times
    Distribution total;
    Distribution api_time;
    Distribution queue;
    Distribution kernel_time;
    Distribution* delay = nullptr;  // of the API
  };
  using Entries = std::map<Key, Entry>;

  Entry& EntryOf(const ActivityRecord& kernel, DropCounters& drops);

  static constexpr size_t kRecent = 256;

  Entries entries_;
  std::array<Entries::value_type*, kRecent> recent_{};  // by a hash of the key: most launches repeat
  std::map<NameId, Distribution> delays_;
};

}  // namespace lockstep
