#include "agent/pipeline/host_totals.h"

#include "analysis/condense/file_interner.h"

namespace lockstep {

// The entry of the key; once there are too many, for new keys that of all the rest, and they are counted.
template <typename Key, typename Row>
auto HostTotals::Table<Key, Row>::EntryOf(const Key& key, NameId name, const Key& rest, DropCounters& drops) -> Entry& {
  Entry*& latest = recent[name % recent.size()];
  if (latest != nullptr && latest->first == key) return *latest;
  auto found = totals.find(key);
  if (found == totals.end() && totals.size() >= kMaxKeys) {
    drops.Add(DropReason::kKeyLimit);
    return *totals.try_emplace(rest).first;
  }
  if (found == totals.end()) found = totals.try_emplace(key).first;
  latest = &*found;
  return *found;
}

template <typename Key, typename Row>
std::vector<Row> HostTotals::Table<Key, Row>::Rows() {
  std::vector<Row> rows;
  for (auto& [key, total] : totals) {
    total.durations.Flush(total.row.duration);
    rows.push_back(total.row);
  }
  return rows;
}

void HostTotals::Count(const HostEvent& event, DropCounters& drops) {
  if (event.is_api) {
    CountCall(event, drops);
  } else {
    CountRange(event, drops);
  }
}

void HostTotals::CountCall(const HostEvent& call, DropCounters& drops) {
  auto& [name, total] = calls_.EntryOf(call.name, call.name, FileInterner::rest(), drops);
  if (total.row.duration.empty() && total.durations.empty()) {
    total.row.name = name;
    total.row.kind = call.api_kind;
  }
  total.durations.Add(call.duration_ns, total.row.duration);
}

void HostTotals::CountRange(const HostEvent& range, DropCounters& drops) {
  const RangeKey own{range.domain, range.name, range.host_kind == HostKind::kStartEnd};
  auto& [key, total] = ranges_.EntryOf(own, own.name, {kNoId, FileInterner::rest()}, drops);
  if (total.row.duration.empty() && total.durations.empty()) {
    total.row.domain = key.domain;
    total.row.name = key.name;
    total.row.style = range.host_kind;
  }
  total.durations.Add(range.duration_ns, total.row.duration);
}

void HostTotals::AddProjected(const RangeKey& key, int64_t duration_ns) {
  const auto found = ranges_.totals.find(key);
  if (found != ranges_.totals.end()) found->second.row.projected.Add(duration_ns);
}

std::vector<ApiRow> HostTotals::Calls() { return calls_.Rows(); }
std::vector<RangeRow> HostTotals::Ranges() { return ranges_.Rows(); }

}  // namespace lockstep
