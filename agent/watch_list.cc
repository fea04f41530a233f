#include "agent/watch_list.h"

#include <array>
#include <set>
#include <string_view>

namespace lockstep {
namespace {

// Files that SQLite keeps beside a database while it is written.
constexpr std::array<std::string_view, 3> kJournals = {"-journal", "-wal", "-shm"};

bool IsJournal(std::string_view path) {
  for (const std::string_view ending : kJournals) {
    if (path.ends_with(ending)) {
      return true;
    }
  }
  return false;
}

bool IsBeingWritten(const std::string& path, const std::set<std::string_view>& present) {
  for (const std::string_view ending : kJournals) {
    if (present.contains(path + std::string(ending))) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<std::string> WatchList::Observe(const std::vector<SeenFile>& files, int64_t now_ns) {
  std::set<std::string_view> present;
  for (const SeenFile& file : files) {
    present.insert(file.path);
  }
  std::vector<std::string> finished;
  for (const SeenFile& file : files) {
    if (IsJournal(file.path)) {
      continue;
    }
    const auto [place, added] = entries_.try_emplace(file.path);
    Entry& entry = place->second;
    const bool moved = added || entry.size_bytes != file.size_bytes || entry.modified_ns != file.modified_ns ||
                       IsBeingWritten(file.path, present);
    if (moved) {
      entry = {file.size_bytes, file.modified_ns, now_ns, entry.finished};
    } else if (!entry.finished && now_ns - entry.quiet_since_ns >= quiet_ns_) {
      entry.finished = true;
      finished.push_back(file.path);
    }
  }
  return finished;
}

}  // namespace lockstep
