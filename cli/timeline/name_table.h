// Names of events, each once. Thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/base/utf8.h"
#include "analysis/export/perfetto/timeline.h"
#include "platform/mutex.h"

namespace lockstep {

class NameTable {
 public:
  // A viewer shows no more of a name.
  static constexpr size_t kMostNameBytes = 1024;

  NameTable() {
    for (const char* cause : {"the host asked too late", "launch latency", "waits for another stream", "not known"}) {
      (void)Id(cause);
    }
  }

  uint32_t Id(std::string_view name) LOCKSTEP_EXCLUDES(mutex_) {
    const std::string_view cut = Utf8Prefix(name, kMostNameBytes);
    std::string text = cut.size() == name.size() ? std::string(cut) : std::string(cut) + "…";
    if (text.empty()) text = "(no name)";
    if (!IsValidUtf8(text)) text = RepairUtf8(text);
    const MutexLock lock(mutex_);
    const auto [found, is_new] = ids_.try_emplace(std::move(text), static_cast<uint32_t>(names_.size()));
    if (is_new) names_.push_back(found->first);
    return found->second;
  }

  // The table is used up.
  [[nodiscard]] std::vector<std::string> Take() LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    ids_.clear();
    return std::move(names_);
  }

 private:
  Mutex mutex_;
  std::unordered_map<std::string, uint32_t> ids_ LOCKSTEP_GUARDED_BY(mutex_);
  std::vector<std::string> names_ LOCKSTEP_GUARDED_BY(mutex_);
};

}  // namespace lockstep
