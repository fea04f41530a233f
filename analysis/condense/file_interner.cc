#include "analysis/condense/file_interner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/base/ascii.h"
#include "analysis/base/hash128.h"
#include "analysis/base/utf8.h"

namespace lockstep {
namespace {

constexpr std::string_view kRestName = "(rest)";

std::string GroupOf(const CollectiveMeta& meta) {
  std::string group = fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}", meta.group_name, meta.group_desc, meta.members_elided,
                                  meta.group_size, meta.comm_hash);
  for (const int32_t member : meta.members) group += fmt::format(",{}", member);
  return group;
}

std::string MetaKeyOf(const CollectiveMeta& meta) {
  return fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}", GroupOf(meta), static_cast<int>(meta.op),
                     static_cast<int>(meta.dtype), meta.bytes, meta.peer, meta.root);
}

// Spreads the shapes that one program launches.
size_t PlaceOf(const LaunchShape& shape) {
  uint64_t place = 0;
  for (const auto* numbers : {&shape.grid, &shape.block}) {
    for (const int32_t number : *numbers) place = place * 0x9e3779b97f4a7c15ULL + static_cast<uint32_t>(number);
  }
  return static_cast<size_t>(place >> 32);
}

size_t PlaceOf(const CollectiveMeta& meta) {
  const uint64_t place = (meta.comm_hash ^ static_cast<uint64_t>(meta.bytes)) * 0x9e3779b97f4a7c15ULL;
  return static_cast<size_t>(place >> 32) + static_cast<size_t>(meta.op);
}

}  // namespace

FileInterner::FileInterner() { AddName(std::string(kRestName)); }

NameId FileInterner::AddName(std::string name) {
  const auto id = static_cast<NameId>(names_.size());
  name_bytes_ += name.size();
  names_.push_back(std::move(name));
  name_index_.emplace(names_.back(), id);
  return id;
}

NameId FileInterner::Name(std::string_view name, DropCounters& drops) {
  if (const auto found = name_index_.find(name); found != name_index_.end()) return found->second;
  std::string text;
  if (name.size() > kMaxNameLength) {
    const std::string suffix = fmt::format("...#{}", HashOf(name).Hex());
    text = std::string(Utf8Prefix(name, kMaxNameLength - suffix.size())) + suffix;
  } else {
    text = std::string(name);
  }
  if (!IsValidUtf8(text)) {
    drops.Add(DropReason::kBadUtf8);
    text = RepairUtf8(text);
  }
  if (const auto found = name_index_.find(text); found != name_index_.end()) return found->second;
  if (names_.size() >= kMaxNames || name_bytes_ + text.size() > kMaxNameBytes) {
    drops.Add(DropReason::kNameLimit);
    return rest();
  }
  return AddName(std::move(text));
}

ShapeId FileInterner::Shape(const LaunchShape& shape, DropCounters& drops) {
  ShapeId& recent = recent_shapes_[PlaceOf(shape) % recent_shapes_.size()];
  if (recent < shapes_.size() && shapes_[recent] == shape) return recent;
  if (const auto found = shape_index_.find(shape); found != shape_index_.end()) return recent = found->second;
  if (shapes_.size() >= kMaxShapes) {
    drops.Add(DropReason::kKeyLimit);
    return kNoId;
  }
  const auto id = static_cast<ShapeId>(shapes_.size());
  shapes_.push_back(shape);
  shape_index_.emplace(shape, id);
  return id;
}

MetaId FileInterner::Meta(const CollectiveMeta& meta, DropCounters& drops) {
  MetaId& recent = recent_metas_[PlaceOf(meta) % recent_metas_.size()];
  if (recent < metas_.size() && metas_[recent] == meta) return recent;
  std::string key = MetaKeyOf(meta);
  if (const auto found = meta_index_.find(key); found != meta_index_.end()) return recent = found->second;
  std::string group = GroupOf(meta);
  const bool full = groups_.size() >= kMaxGroups && !groups_.contains(group);
  if (metas_.size() >= kMaxMetas || full) {
    drops.Add(DropReason::kKeyLimit);
    return kNoId;
  }
  groups_.insert(std::move(group));
  const auto id = static_cast<MetaId>(metas_.size());
  metas_.push_back(meta);
  meta_index_.emplace(std::move(key), id);
  return id;
}

KernelClass FileInterner::ClassOf(NameId kernel) const {
  const std::string& name = NameOf(kernel);
  KernelClass known = ClassifyKernel(name);
  if (communication_.empty() || known.category == Category::kCommunication) return known;
  const std::string lowered = Lowered(name);
  const bool communicates = std::any_of(communication_.begin(), communication_.end(), [&](const std::string& word) {
    return lowered.find(word) != std::string::npos;
  });
  if (!communicates) return known;
  return {
      .category = Category::kCommunication, .family = Family::kCommunication, .library = CollectiveLibrary::kCustom};
}

}  // namespace lockstep
