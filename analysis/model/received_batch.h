// A batch as a store takes it: its instances as rows or as they were sent, and what a store has to know of them in
// either case. Pure values.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/model/batch.h"

namespace lockstep {

// What is checked against the batches before.
struct InstanceFacts {
  int64_t count = 0;
  bool ascending = true;  // each starts no earlier than the one before it
  // The rest only where there are any.
  int64_t first_start_ns = 0;
  int64_t last_start_ns = 0;
  uint32_t greatest_communicator = 0;
  uint32_t greatest_name = 0;
  int64_t least_tile = 0;  // instances that tiles refer to; 0, -1: there are no tiles
  int64_t greatest_tile = -1;
  friend bool operator==(const InstanceFacts&, const InstanceFacts&) = default;
};
[[nodiscard]] InstanceFacts FactsOf(std::span<const InstanceRow> rows);

// What the durations of instances are totalled by.
struct CollectiveOpKey {
  uint32_t communicator = 0;
  CollectiveOp op = CollectiveOp::kUnknown;
  DataType dtype = DataType::kUnknown;
  int64_t bytes = kUnknownBytes;
  CollectiveLibrary library = CollectiveLibrary::kNone;
  friend auto operator<=>(const CollectiveOpKey&, const CollectiveOpKey&) = default;
};
struct CollectiveOpRow {
  CollectiveOpKey key;
  Sketch duration;
  friend bool operator==(const CollectiveOpRow&, const CollectiveOpRow&) = default;
};

// Collects durations by key.
class CollectiveOps {
 public:
  void Add(const CollectiveOpKey& key, int64_t duration_ns);
  void AddAll(const CollectiveOpKey& key, std::span<const int64_t> durations_ns);
  // Ascending by key; nothing is left.
  [[nodiscard]] std::vector<CollectiveOpRow> Take();

 private:
  std::vector<int64_t>& Of(const CollectiveOpKey& key);

  std::map<CollectiveOpKey, std::vector<int64_t>> durations_;
  std::pair<const CollectiveOpKey, std::vector<int64_t>>* latest_ = nullptr;  // rows with equal keys follow each other
};
[[nodiscard]] std::vector<CollectiveOpRow> CollectiveOpsOf(std::span<const InstanceRow> rows);

struct ReceivedBatch {
  ReceivedBatch() = default;
  // With rows: nothing was sent.
  ReceivedBatch(Batch rows);  // NOLINT(google-explicit-constructor): what has rows can be stored as it is

  Batch batch;  // `instances` is empty where they are packed
  InstanceFacts instances;
  std::string packed;                // the instances as PackInstances (proto/instance_codec.h) gives them; "" = as rows
  std::vector<CollectiveOpRow> ops;  // of packed ones; CollectiveOpsOf tells those of rows
};

}  // namespace lockstep
