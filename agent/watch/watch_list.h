// Which files of watched folders are finished: renamed into place, closed and left alone for a moment, or not changed
// for some seconds; never while a writer's journal lies beside them. Pure: what is seen and when are given. Not thread
// safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/spool/ledger.h"

namespace lockstep {

// How a file came to notice. A file that was only seen may still be open in a writer's hands.
enum class FileSign : uint8_t { kSeen, kClosed, kMovedIn };

struct SeenFile {
  FileKey key;
  bool has_journal = false;
};

// Files that SQLite keeps beside a database while it is written; never traces themselves.
[[nodiscard]] bool IsJournal(std::string_view path);
[[nodiscard]] std::vector<std::string> JournalsOf(const std::string& path);

struct WatchTimes {
  int64_t seen_quiet_ns = 5'000'000'000;
  int64_t closed_quiet_ns = 1'000'000'000;
};

class WatchList {
 public:
  explicit WatchList(const WatchTimes& times = {}) : times_(times) {}

  // A file that may be new. Said again, the quiet time goes on unless the file has changed.
  void Note(const SeenFile& file, FileSign sign, int64_t now_ns);
  // Takes off the list what is finished now; `look` tells a file as it is, null = gone (and off the list).
  std::vector<std::string> TakeFinished(const std::function<std::optional<SeenFile>(const std::string&)>& look,
                                        int64_t now_ns);
  // When the next one may be finished; null = nothing is on the list.
  [[nodiscard]] std::optional<int64_t> NextDueNs() const;

 private:
  struct Entry {
    SeenFile seen;
    int64_t quiet_since_ns = 0;
    int64_t quiet_ns = 0;
  };
  [[nodiscard]] int64_t QuietFor(FileSign sign) const;
  WatchTimes times_;
  std::map<std::string, Entry> entries_;
};

}  // namespace lockstep
