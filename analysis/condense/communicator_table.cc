#include "analysis/condense/communicator_table.h"

#include <fmt/format.h>

#include <utility>

namespace lockstep {
namespace {

std::string CommunicatorKeyOf(const LocalCommunicator& communicator) {
  std::string key = fmt::format("{}\x1f{}\x1f{}\x1f{}", communicator.group_name, communicator.group_desc,
                                communicator.comm_hash, communicator.size);
  for (const int32_t member : communicator.members) key += fmt::format(",{}", member);
  return key;
}

}  // namespace

uint32_t CommunicatorTable::Unknown() {
  if (unknown_ == kNoId) {
    unknown_ = count_++;
    LocalCommunicator communicator;
    communicator.id = unknown_;
    define_(std::move(communicator));
  }
  return unknown_;
}

LocalCommunicator CommunicatorTable::Describe(const CollectiveMeta& meta) const {
  LocalCommunicator communicator;
  communicator.known = true;
  communicator.group_name = meta.group_name;
  communicator.group_desc = meta.group_desc;
  communicator.members = meta.members;
  communicator.size = meta.group_size;
  communicator.comm_hash = meta.comm_hash;
  communicator.elided_unresolved = meta.members_elided;
  for (const GroupConfig& group : groups_) {
    const bool by_hash = meta.comm_hash != 0 && group.comm_hash == meta.comm_hash;
    const bool by_name = meta.comm_hash == 0 && !group.name.empty() && group.name == meta.group_name &&
                         (meta.group_size < 0 || group.size < 0 || group.size == meta.group_size);
    if (!by_hash && !by_name) continue;
    if (communicator.members.empty()) communicator.members = group.members;
    if (communicator.size < 0) communicator.size = group.size;
    if (communicator.group_desc.empty()) communicator.group_desc = group.desc;
    communicator.own_rank = group.own_rank;
    break;
  }
  if (communicator.size < 0 && !communicator.members.empty()) {
    communicator.size = static_cast<int32_t>(communicator.members.size());
  }
  return communicator;
}

uint32_t CommunicatorTable::Of(MetaId meta_id) {
  if (meta_id == kNoId) return Unknown();
  if (const auto found = by_meta_.find(meta_id); found != by_meta_.end()) return found->second;
  const CollectiveMeta& meta = names_.MetaOf(meta_id);
  const bool has_group = !meta.group_name.empty() || meta.comm_hash != 0 || !meta.members.empty();
  if (!has_group || by_group_.size() >= kMaxCommunicators) return by_meta_[meta_id] = Unknown();
  LocalCommunicator communicator = Describe(meta);
  const auto [found, is_new] = by_group_.emplace(CommunicatorKeyOf(communicator), count_);
  if (is_new) {
    communicator.id = count_++;
    define_(std::move(communicator));
  }
  return by_meta_[meta_id] = found->second;
}

}  // namespace lockstep
