// Where the instances of a run come from: they are pulled, a source at a time, because those of a fleet fit nowhere.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "analysis/base/hash128.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/run_data.h"

namespace lockstep {

// How far the instances of a source were read, in the words of their store: who reads on goes on behind it, perhaps in
// a later snapshot.
struct InstancePosition {
  int64_t number = -1;  // of what was given last; -1 = nothing yet
  Hash128 content;      // ... its hash
  friend bool operator==(const InstancePosition&, const InstancePosition&) = default;
};

// Pulls the instances of one source, in order of start, in blocks; names translated to RunData::names. Implemented by
// the stores and by a vector in tests. Not thread safe; make one per reader. An empty block is the end; a block lives
// until the next one is asked for.
class InstanceStream {
 public:
  virtual ~InstanceStream() = default;
  // The next block, to keep.
  virtual absl::StatusOr<std::vector<InstanceRow>> Take() = 0;
  // The next block, to look at.
  virtual absl::StatusOr<std::span<const InstanceRow>> Next() {
    absl::StatusOr<std::vector<InstanceRow>> block = Take();
    if (!block.ok()) return block.status();
    block_ = *std::move(block);
    return block_;
  }
  // Behind the last block given, which must not be in the midst of what the store keeps as one.
  [[nodiscard]] virtual InstancePosition Position() const { return {}; }
  [[nodiscard]] virtual bool InMidst() const { return false; }

 private:
  std::vector<InstanceRow> block_;  // looked at last
};

class InstanceSource {
 public:
  virtual ~InstanceSource() = default;
  // Instances of RunData::sources[source], in order of start.
  virtual absl::StatusOr<std::unique_ptr<InstanceStream>> Open(size_t source) = 0;
  // Goes on behind a position that a stream of this source told, of this snapshot or an earlier one.
  // kFailedPrecondition: the source has another content there by now; kUnimplemented: these cannot be read on.
  virtual absl::StatusOr<std::unique_ptr<InstanceStream>> OpenBehind(size_t source, const InstancePosition& position) {
    if (position.number < 0) return Open(source);
    return absl::UnimplementedError("these instances can only be read from their begin");
  }
  // Ordinal of the first row that Open gives, in the source's stream of all instances: more than 0 of a stretch.
  [[nodiscard]] virtual int64_t FirstRow(size_t /*source*/) const { return 0; }
  // How many rows Open gives where that is known; -1: it is not.
  [[nodiscard]] virtual int64_t RowCount(size_t /*source*/) const { return -1; }
};

// Room to make for the instances of a source beforehand: a stored count is believed only so far.
[[nodiscard]] size_t ExpectedInstances(const SourceData& source);
// ... or of a stretch of it.
[[nodiscard]] size_t ExpectedInstances(const RunData& run, const InstanceSource& instances, size_t source);

}  // namespace lockstep
