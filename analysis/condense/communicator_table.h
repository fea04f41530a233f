// The communicators one source knows, numbered in order of first use. Bounded: beyond kMaxCommunicators an instance
// counts as one of no known group. One thread, no I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/condense/file_interner.h"
#include "analysis/model/definitions.h"
#include "analysis/model/source.h"

namespace lockstep {

class CommunicatorTable {
 public:
  static constexpr size_t kMaxCommunicators = 100'000;

  CommunicatorTable(const FileInterner& names, const std::vector<GroupConfig>& groups,
                    std::function<void(LocalCommunicator)> define)
      : names_(names), groups_(groups), define_(std::move(define)) {}

  // kNoId as meta: an instance of which the trace does not tell the group.
  uint32_t Of(MetaId meta);
  [[nodiscard]] bool IsKnown(uint32_t id) const { return id != unknown_; }

 private:
  uint32_t Unknown();
  [[nodiscard]] LocalCommunicator Describe(const CollectiveMeta& meta) const;

  const FileInterner& names_;
  const std::vector<GroupConfig>& groups_;
  std::function<void(LocalCommunicator)> define_;
  std::unordered_map<MetaId, uint32_t> by_meta_;
  std::unordered_map<std::string, uint32_t> by_group_;
  uint32_t count_ = 0;
  uint32_t unknown_ = kNoId;
};

}  // namespace lockstep
