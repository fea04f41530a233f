// What the host of one process called and annotated, by name, in any order of arrival. Bounded: beyond kMaxKeys keys of
// a kind new ones are one counted remainder. One thread.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "agent/pipeline/host_event.h"
#include "analysis/model/drop_reason.h"
#include "analysis/model/host_rows.h"
#include "analysis/stats/sketch_feed.h"

namespace lockstep {

// A range that may end on another thread than it began on is no push and pop of the same name.
struct RangeKey {
  NameId domain = kNoId;
  NameId name = kNoId;
  bool start_end = false;
  friend auto operator<=>(const RangeKey&, const RangeKey&) = default;
};

class HostTotals {
 public:
  static constexpr size_t kMaxKeys = 8'192;

  HostTotals() = default;
  HostTotals(HostTotals&&) = default;
  HostTotals(const HostTotals&) = delete;  // its entries are pointed to

  void Count(const HostEvent& event, DropCounters& drops);
  // The device work of a range of this name; nothing if no such range was counted.
  void AddProjected(const RangeKey& key, int64_t duration_ns);

  // In order of their keys. Names still are those of the file.
  [[nodiscard]] std::vector<ApiRow> Calls();
  [[nodiscard]] std::vector<RangeRow> Ranges();

 private:
  template <typename Key, typename Row>
  struct Table {
    struct Total {
      Row row;
      SketchFeed durations;
    };
    using Entry = std::pair<const Key, Total>;
    std::map<Key, Total> totals;
    std::array<Entry*, 64> recent{};  // by name: most events repeat

    Entry& EntryOf(const Key& key, NameId name, const Key& rest, DropCounters& drops);
    std::vector<Row> Rows();
  };

  void CountCall(const HostEvent& call, DropCounters& drops);
  void CountRange(const HostEvent& range, DropCounters& drops);

  Table<NameId, ApiRow> calls_;
  Table<RangeKey, RangeRow> ranges_;
};

}  // namespace lockstep
