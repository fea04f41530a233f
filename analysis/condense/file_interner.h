// Interned strings, launch shapes and collective metadata of one file, bounded.
//
// Limits: kMaxNames names or kMaxNameBytes bytes of text; beyond them a name becomes rest() and name_limit is counted.
// Names longer than kMaxNameLength are cut with a hash suffix. Invalid UTF-8 is repaired and counted. One
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/model/drop_reason.h"
#include "analysis/model/kernel_class.h"
#include "analysis/model/trace_record.h"

namespace lockstep {

class FileInterner {
 public:
  static constexpr size_t kMaxNames = 200'000;
  static constexpr size_t kMaxNameBytes = size_t{24} << 20;
  static constexpr size_t kMaxNameLength = 4096;
  static constexpr size_t kMaxShapes = 65'536;
  static constexpr size_t kMaxMetas = 65'536;
  static constexpr size_t kMaxGroups = 4'096;  // whose collectives have metadata; beyond them none, counted

  FileInterner();

  NameId Name(std::string_view name, DropCounters& drops);
  ShapeId Shape(const LaunchShape& shape, DropCounters& drops);
  MetaId Meta(const CollectiveMeta& meta, DropCounters& drops);

  // Kernels whose names hold one of these texts, in lower case, communicate, whatever the classifier knows of them.
  void SetCommunication(std::vector<std::string> words) { communication_ = std::move(words); }
  [[nodiscard]] KernelClass ClassOf(NameId kernel) const;

  // "(rest)": what stands for all that lies beyond a limit, here and in the tables by name.
  [[nodiscard]] static constexpr NameId rest() { return 0; }
  [[nodiscard]] const std::string& NameOf(NameId id) const { return names_[id]; }
  [[nodiscard]] const LaunchShape& ShapeOf(ShapeId id) const { return shapes_[id]; }
  [[nodiscard]] const CollectiveMeta& MetaOf(MetaId id) const { return metas_[id]; }
  [[nodiscard]] CollectiveMeta& MutableMeta(MetaId id) { return metas_[id]; }
  [[nodiscard]] size_t names() const { return names_.size(); }
  [[nodiscard]] size_t metas() const { return metas_.size(); }

 private:
  NameId AddName(std::string name);

  std::deque<std::string> names_;  // stable addresses: the index below views them
  std::unordered_map<std::string_view, NameId> name_index_;
  size_t name_bytes_ = 0;
  std::vector<LaunchShape> shapes_;
  std::map<LaunchShape, ShapeId> shape_index_;
  std::array<ShapeId, 1024> recent_shapes_{};  // by a hash: shapes repeat; what stands there may be another's
  std::vector<CollectiveMeta> metas_;
  std::unordered_map<std::string, MetaId> meta_index_;
  std::array<MetaId, 64> recent_metas_{};  // as recent_shapes_
  std::unordered_set<std::string> groups_;
  std::vector<std::string> communication_;
};

}  // namespace lockstep
