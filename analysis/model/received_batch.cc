#include "analysis/model/received_batch.h"

#include <algorithm>

#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/stats/sort_values.h"

namespace lockstep {

InstanceFacts FactsOf(std::span<const InstanceRow> rows) {
  InstanceFacts facts;
  if (rows.empty()) return facts;
  facts.count = static_cast<int64_t>(rows.size());
  facts.first_start_ns = rows.front().start_ns;
  facts.last_start_ns = rows.front().start_ns;
  for (const InstanceRow& row : rows) {
    facts.ascending = facts.ascending && row.start_ns >= facts.last_start_ns;
    facts.last_start_ns = row.start_ns;
    facts.greatest_communicator = std::max(facts.greatest_communicator, row.communicator);
    facts.greatest_name = std::max(facts.greatest_name, row.name);
    for (const OtherCommTile& tile : row.segment.tiles) {
      facts.least_tile = std::min(facts.least_tile, tile.instance);
      facts.greatest_tile = std::max(facts.greatest_tile, tile.instance);
    }
  }
  return facts;
}

std::vector<int64_t>& CollectiveOps::Of(const CollectiveOpKey& key) {
  if (latest_ == nullptr || latest_->first != key) latest_ = &*durations_.try_emplace(key).first;
  return latest_->second;
}

void CollectiveOps::Add(const CollectiveOpKey& key, int64_t duration_ns) { Of(key).push_back(duration_ns); }

void CollectiveOps::AddAll(const CollectiveOpKey& key, std::span<const int64_t> durations_ns) {
  std::vector<int64_t>& durations = Of(key);
  durations.insert(durations.end(), durations_ns.begin(), durations_ns.end());
}

std::vector<CollectiveOpRow> CollectiveOps::Take() {
  std::vector<CollectiveOpRow> rows;
  for (auto& [key, durations] : durations_) {
    SortValues(durations);
    rows.push_back({key, Sketch::OfSorted(durations)});
  }
  durations_.clear();
  latest_ = nullptr;
  return rows;
}

std::vector<CollectiveOpRow> CollectiveOpsOf(std::span<const InstanceRow> rows) {
  CollectiveOps ops;
  for (const InstanceRow& row : rows) {
    ops.Add({row.communicator, row.op, row.dtype, row.bytes, row.library}, row.duration_ns);
  }
  return ops.Take();
}

ReceivedBatch::ReceivedBatch(Batch rows) : batch(std::move(rows)), instances(FactsOf(batch.instances)) {}

}  // namespace lockstep
