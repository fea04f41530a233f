// The files of watched folders, each once it is finished. inotify tells at once; a rescan now and then finds what it
// did not tell (other machines' files, links, a full queue) and takes at most a two-thousandth of a core.
// One thread; Wake from any.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/watch/watch_list.h"
#include "platform/directory_watch.h"

namespace lockstep {

struct FolderWatchOptions {
  // With all below them; a file has one path, however often and by whatever links its folder is named.
  std::vector<std::string> folders;
  std::string pattern;  // of file names, as a shell matches them; "" = all
  // Whether a file is worth anything: not taken before.
  std::function<bool(const FileKey&)> is_news;
  WatchTimes times;
};

// The file as it is now; null when it is no regular file (any more).
[[nodiscard]] std::optional<FileKey> KeyOf(const std::string& path);

class FolderWatch {
 public:
  // Works without inotify too, by looking more often.
  explicit FolderWatch(FolderWatchOptions options);
  // Waits until something may have happened, at most for `longest_ns`, and returns what is finished now.
  std::vector<std::string> Next(int64_t longest_ns);
  void Wake() const;

 private:
  [[nodiscard]] int64_t TimeToWaitNs(int64_t now_ns, int64_t longest_ns) const;
  void Consider(const std::string& path, FileSign sign, int64_t now_ns);
  void Scan(int64_t now_ns);
  void ScanFolder(const std::string& folder, int64_t now_ns);
  void Watch(const std::string& folder);
  void Complain(const std::string& folder, const std::string& why);

  const FolderWatchOptions options_;
  const std::vector<std::string> folders_;
  std::optional<DirectoryWatch> watch_;
  WatchList list_;
  bool must_poll_ = false;  // some folder's changes are not told
  int64_t next_scan_ns_ = 0;
  std::set<std::string> complained_;
};

}  // namespace lockstep
