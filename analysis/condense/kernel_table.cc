#include "analysis/condense/kernel_table.h"

#include <algorithm>
#include <utility>

#include "analysis/condense/bucket_measures.h"

namespace lockstep {
namespace {

constexpr size_t kMostPending = 128;

bool IsLonger(const Exemplar& a, const Exemplar& b) {
  return std::tie(b.duration_ns, a.start_ns) < std::tie(a.duration_ns, b.start_ns);
}

}  // namespace

size_t KernelTable::KeyHash::operator()(const Key& key) const {
  uint64_t h = key.name;
  for (const uint64_t part : {uint64_t{key.mangled}, uint64_t{key.shape}, uint64_t{key.from_graph},
                              uint64_t{key.is_rest}, static_cast<uint64_t>(key.phase)}) {
    h = (h ^ part) * 0x9e3779b97f4a7c15ULL;
    h ^= h >> 29;
  }
  return static_cast<size_t>(h);
}

KernelTable::Entry& KernelTable::EntryOf(const ActivityRecord& kernel, const KernelClass& kind, DropCounters& drops) {
  const Key key{kernel.name, kernel.mangled, kernel.shape, kernel.from_graph, kernel.phase, false};
  auto& recent = recent_[(kernel.name * 61 + kernel.shape) % recent_.size()];
  if (recent != nullptr && recent->first == key) return recent->second;
  if (const auto found = entries_.find(key); found != entries_.end()) {
    recent = &*found;
    return found->second;
  }
  // What comes late and weighs most still has a row of its own.
  const bool is_large = largest_.contains(kernel.name);
  if (entries_.size() < (is_large ? 2 * kMaxKeys : kMaxKeys)) {
    Entry& entry = entries_[key];
    entry.kind = kind;
    if (is_large) entry.most_exemplars = kMaxExemplars;
    return entry;
  }
  drops.Add(DropReason::kKeyLimit);
  // One remainder for compute and one for communication, told apart by the shape field, which a remainder has no use
  // for.
  const Key rest{FileInterner::rest(), kNoId, static_cast<ShapeId>(kind.category), false, Phase::kNone, true};
  Entry& entry = entries_[rest];
  entry.kind.category = kind.category;
  entry.kind.family = kind.category == Category::kCommunication ? Family::kCommunication : Family::kOther;
  return entry;
}

void KernelTable::Add(const ActivityRecord& kernel, const KernelClass& kind, int64_t step,
                      std::optional<uint32_t> place, DropCounters& drops) {
  Entry& entry = EntryOf(kernel, kind, drops);
  const int64_t slice = GridIndex(kernel.start_ns, slice_ns_);
  if (entry.pending_slice != slice || entry.pending.size() == kMostPending) TakePending(entry);
  entry.pending_slice = slice;
  entry.pending.push_back(kernel.duration_ns);
  AddExemplar(entry, {kernel.start_ns, kernel.duration_ns, step});
  if (place) AddPlace(*place, entry.places);
  entry.range.Add(kernel.range);
  if (--entry.until_check == 0) Bound(entry);
  if (--until_bound_ == 0) BoundAll();
}

void KernelTable::AddExemplar(Entry& entry, const Exemplar& exemplar) {
  std::vector<Exemplar>& longest = entry.longest;
  if (longest.size() == entry.most_exemplars && !IsLonger(exemplar, longest.back())) return;
  longest.insert(std::upper_bound(longest.begin(), longest.end(), exemplar, IsLonger), exemplar);
  if (longest.size() > entry.most_exemplars) longest.pop_back();
}

void KernelTable::TakePending(Entry& entry) {
  if (entry.pending.empty()) return;
  entry.total.AddAll(entry.pending);
  Sketch& slice = entry.slices[entry.pending_slice];
  if (!entry.total.exact()) slice.ForgetExact();
  slice.AddAll(entry.pending);
  entry.pending.clear();
}

// Slices are exact only while the key as a whole is: nothing that any merge could show is lost.
void KernelTable::Bound(Entry& entry) {
  entry.until_check = 512;
  TakePending(entry);
  if (entry.total.exact()) return;
  for (auto& [index, slice] : entry.slices) slice.ForgetExact();
}

// Against files made to exhaust memory: beyond the limit the keys with most values give up exactness.
void KernelTable::BoundAll() {
  until_bound_ = 1 << 20;
  size_t held = 0;
  for (auto& [key, entry] : entries_) {
    Bound(entry);
    for (const auto& [index, slice] : entry.slices) held += slice.exact() ? slice.distinct() : 0;
  }
  if (held <= kMaxExactValues) return;
  for (auto& [key, entry] : entries_) {
    size_t own = 0;
    for (const auto& [index, slice] : entry.slices) own += slice.exact() ? slice.distinct() : 0;
    if (own <= 256) continue;
    entry.total.ForgetExact();
    Bound(entry);
  }
}

std::vector<KernelRow> KernelTable::TakeRows() {
  std::vector<std::pair<Key, Entry>> all(std::make_move_iterator(entries_.begin()),
                                         std::make_move_iterator(entries_.end()));
  entries_.clear();
  recent_ = {};
  const auto text = [&](NameId id) { return id == kNoId ? std::string_view() : std::string_view(names_.NameOf(id)); };
  const auto shape = [&](const Key& key) {
    return key.shape == kNoId || key.is_rest ? LaunchShape{} : names_.ShapeOf(key.shape);
  };
  std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    return std::tuple(a.first.is_rest, text(a.first.name), text(a.first.mangled), shape(a.first), a.first.from_graph,
                      a.first.phase, a.second.kind.category) <
           std::tuple(b.first.is_rest, text(b.first.name), text(b.first.mangled), shape(b.first), b.first.from_graph,
                      b.first.phase, b.second.kind.category);
  });
  std::vector<KernelRow> rows;
  for (auto& [key, entry] : all) {
    Bound(entry);
    KernelRow row;
    row.name = key.name;
    row.mangled = key.mangled;
    row.has_shape = key.shape != kNoId && !key.is_rest;
    row.shape = shape(key);
    row.from_graph = key.from_graph;
    row.phase = Name(key.phase);
    row.is_rest = key.is_rest;
    row.kind = entry.kind;
    row.slices.assign(std::make_move_iterator(entry.slices.begin()), std::make_move_iterator(entry.slices.end()));
    const auto most = std::max(kExemplars, static_cast<size_t>(entry.total.count() / 8));
    entry.total = Sketch();
    if (entry.longest.size() > most) entry.longest.resize(most);
    row.longest = std::move(entry.longest);
    row.places = std::move(entry.places);
    row.range = entry.range.Get();
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace lockstep
