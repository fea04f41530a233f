// Durations by kernel key and time slice. Bounded: kMaxKeys keys, as many again of the largest names (then one counted
// remainder a category), and a limit on exact values held. One thread, no I/O.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/condense/activity.h"
#include "analysis/condense/file_interner.h"
#include "analysis/model/common_range.h"
#include "analysis/model/kernel_row.h"

namespace lockstep {

class KernelTable {
 public:
  static constexpr size_t kMaxKeys = 4'096;
  // Longest instances of a key; of the largest names kMaxExemplars, but never more than one in eight instances: what
  // travels is a summary.
  static constexpr size_t kExemplars = 8;
  static constexpr size_t kMaxExactValues = 1'500'000;  // over all keys and slices

  KernelTable(const FileInterner& names, int64_t slice_ns, const std::vector<NameId>& largest)
      : names_(names), slice_ns_(slice_ns), largest_(largest.begin(), largest.end()) {}

  // `place`: which kernel of the typical step it is, rising; none = it is in another step.
  void Add(const ActivityRecord& kernel, const KernelClass& kind, int64_t step, std::optional<uint32_t> place,
           DropCounters& drops);

  // Rows in order of name text, then key. KernelRow::name, ::mangled and ::range still are file NameIds (kNoId
  // stays).
  [[nodiscard]] std::vector<KernelRow> TakeRows();

 private:
  struct Key {
    NameId name = kNoId;
    NameId mangled = kNoId;
    ShapeId shape = kNoId;
    bool from_graph = false;
    Phase phase = Phase::kNone;
    bool is_rest = false;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Entry {
    KernelClass kind;
    Sketch total;  // decides whether the slices may stay exact
    std::map<int64_t, Sketch> slices;
    std::vector<Exemplar> longest;
    size_t most_exemplars = kExemplars;
    std::vector<uint32_t> places;
    CommonRange range;
    int64_t until_check = 512;
    std::vector<int64_t> pending;  // durations of one slice that its sketch and the total lack
    int64_t pending_slice = 0;
  };
  using Entries = std::unordered_map<Key, Entry, KeyHash>;

  Entry& EntryOf(const ActivityRecord& kernel, const KernelClass& kind, DropCounters& drops);
  void AddExemplar(Entry& entry, const Exemplar& exemplar);
  static void TakePending(Entry& entry);
  static void Bound(Entry& entry);
  void BoundAll();

  const FileInterner& names_;
  int64_t slice_ns_;
  std::unordered_set<NameId> largest_;
  Entries entries_;
  std::array<Entries::value_type*, 512> recent_{};  // by name and shape: most kernels repeat
  int64_t until_bound_ = 1 << 20;
};

}  // namespace lockstep
