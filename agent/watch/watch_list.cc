#include "agent/watch/watch_list.h"

#include <algorithm>
#include <array>

namespace lockstep {
namespace {

constexpr std::array<std::string_view, 3> kJournals = {"-journal", "-wal", "-shm"};

}  // namespace

bool IsJournal(std::string_view path) {
  return std::any_of(kJournals.begin(), kJournals.end(),
                     [path](std::string_view ending) { return path.ends_with(ending); });
}

std::vector<std::string> JournalsOf(const std::string& path) {
  std::vector<std::string> journals;
  for (const std::string_view ending : kJournals) {
    journals.push_back(path + std::string(ending));
  }
  return journals;
}

int64_t WatchList::QuietFor(FileSign sign) const {
  switch (sign) {
    case FileSign::kMovedIn:
      return 0;
    case FileSign::kClosed:
      return times_.closed_quiet_ns;
    case FileSign::kSeen:
      break;
  }
  return times_.seen_quiet_ns;
}

void WatchList::Note(const SeenFile& file, FileSign sign, int64_t now_ns) {
  const auto [place, added] = entries_.try_emplace(file.key.path);
  Entry& entry = place->second;
  const int64_t quiet_ns = QuietFor(sign);
  if (added || entry.seen.key != file.key) {
    entry = {file, now_ns, quiet_ns};
  } else if (sign != FileSign::kSeen) {
    entry.quiet_since_ns = now_ns;
    entry.quiet_ns = quiet_ns;
  }
}

std::vector<std::string> WatchList::TakeFinished(const std::function<std::optional<SeenFile>(const std::string&)>& look,
                                                 int64_t now_ns) {
  std::vector<std::string> finished;
  for (auto place = entries_.begin(); place != entries_.end();) {
    Entry& entry = place->second;
    if (now_ns - entry.quiet_since_ns < entry.quiet_ns) {
      ++place;
      continue;
    }
    const std::optional<SeenFile> now = look(place->first);
    if (now && (now->has_journal || now->key != entry.seen.key)) {
      // Somebody is at it: only quiet tells now.
      entry = {*now, now_ns, times_.seen_quiet_ns};
      ++place;
      continue;
    }
    if (now) {
      finished.push_back(place->first);
    }
    place = entries_.erase(place);
  }
  return finished;
}

std::optional<int64_t> WatchList::NextDueNs() const {
  std::optional<int64_t> due_ns;
  for (const auto& [path, entry] : entries_) {
    const int64_t entry_ns = entry.quiet_since_ns + entry.quiet_ns;
    due_ns = due_ns ? std::min(*due_ns, entry_ns) : entry_ns;
  }
  return due_ns;
}

}  // namespace lockstep
