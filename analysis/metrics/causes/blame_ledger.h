// Who is blamed in the instances that blame has passed through, to be blamed again for what follows from them. A plain
// value. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/metrics/causes/blame_weights.h"
#include "analysis/stats/sketch.h"

namespace lockstep {

// What is blamed on nobody.
inline constexpr Origin kNeverTold{};

// Distributions of the instances done so far, by the member that the others waited for.
class BlameLedger {
 public:
  explicit BlameLedger(size_t instances) : head_(instances, -1) {}

  void Put(uint32_t instance, int32_t awaited, const Weights& weights) {
    slots_.push_back({awaited, head_[instance], entries_.size(), weights.size()});
    head_[instance] = static_cast<int64_t>(slots_.size()) - 1;
    entries_.insert(entries_.end(), weights.begin(), weights.end());
  }

  [[nodiscard]] bool Has(int64_t instance, int32_t awaited) const { return Find(instance, awaited) != nullptr; }

  // Adds `share` distributed as that instance was; to what was never told if it was not.
  void AddShare(int64_t instance, int32_t awaited, int128 share, WeightSum& into) const {
    const Slot* const slot = Find(instance, awaited);
    if (slot == nullptr) return into.Add(kNeverTold, share);
    for (size_t i = slot->first; i < slot->first + slot->count; ++i) into.AddScaled(entries_[i], share);
  }

 private:
  struct Slot {
    int32_t awaited = -1;
    int64_t next = -1;
    size_t first = 0;
    size_t count = 0;
  };
  static size_t At(int64_t index) { return static_cast<size_t>(index); }

  // Null: nobody waited for that member there, or why it came late is not told.
  [[nodiscard]] const Slot* Find(int64_t instance, int32_t awaited) const {
    if (instance < 0 || awaited < 0) return nullptr;
    for (int64_t slot = head_[At(instance)]; slot >= 0; slot = slots_[At(slot)].next) {
      if (slots_[At(slot)].awaited == awaited) return &slots_[At(slot)];
    }
    return nullptr;
  }

  std::vector<int64_t> head_;
  std::vector<Slot> slots_;
  std::vector<Weight> entries_;
};

}  // namespace lockstep
