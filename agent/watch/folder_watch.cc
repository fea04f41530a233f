#include "agent/watch/folder_watch.h"

#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "analysis/base/time.h"
#include "platform/clock.h"
#include "platform/file_system.h"
#include "platform/log.h"
#include "platform/process.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRescanNs = 60 * kNsPerS;
constexpr int64_t kPollNs = 5 * kNsPerS;
// Rescans are so far apart that they take one part in so many of a core.
constexpr int64_t kScanShare = 2000;

std::string NameIn(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::optional<SeenFile> Look(const std::string& path) {
  const std::optional<FileKey> key = KeyOf(path);
  if (!key) {
    return std::nullopt;
  }
  const std::vector<std::string> journals = JournalsOf(path);
  const bool has_journal =
      std::any_of(journals.begin(), journals.end(), [](const std::string& journal) { return KeyOf(journal); });
  return SeenFile{.key = *key, .has_journal = has_journal};
}

}  // namespace

std::optional<FileKey> KeyOf(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return std::nullopt;
  }
  return FileKey{.path = path,
                 .size_bytes = info.st_size,
                 .modified_ns = int64_t{info.st_mtim.tv_sec} * kNsPerS + info.st_mtim.tv_nsec,
                 .inode = info.st_ino};
}

FolderWatch::FolderWatch(FolderWatchOptions options)
    : options_(std::move(options)), folders_(OutermostFolders(options_.folders)), list_(options_.times) {
  absl::StatusOr<DirectoryWatch> watch = DirectoryWatch::Create();
  if (watch.ok()) {
    watch_ = *std::move(watch);
  } else {
    must_poll_ = true;
    LogWarning("{}: looking into the folders every few seconds instead", std::string(watch.status().message()));
  }
  must_poll_ = must_poll_ || std::any_of(folders_.begin(), folders_.end(), IsOnNetwork);
}

void FolderWatch::Wake() const {
  if (watch_) {
    watch_->Wake();
  }
}

int64_t FolderWatch::TimeToWaitNs(int64_t now_ns, int64_t longest_ns) const {
  int64_t until_ns = std::min(next_scan_ns_, now_ns + longest_ns);
  if (const auto due_ns = list_.NextDueNs()) {
    until_ns = std::min(until_ns, *due_ns);
  }
  return std::max<int64_t>(0, until_ns - now_ns);
}

std::vector<std::string> FolderWatch::Next(int64_t longest_ns) {
  const int64_t wait_ns = TimeToWaitNs(SystemClock().MonotonicNs(), longest_ns);
  DirectoryEvents events;
  if (watch_) {
    events = watch_->Wait(wait_ns);
  } else {
    WaitUnlessStopped({}, std::min(wait_ns, kNsPerS));
  }
  const int64_t now_ns = SystemClock().MonotonicNs();
  for (const std::string& path : events.closed) {
    Consider(path, FileSign::kClosed, now_ns);
  }
  for (const std::string& path : events.moved_in) {
    Consider(path, FileSign::kMovedIn, now_ns);
  }
  if (events.lost || events.folders_changed || now_ns >= next_scan_ns_) {
    Scan(now_ns);
  }
  return list_.TakeFinished(Look, now_ns);
}

void FolderWatch::Consider(const std::string& path, FileSign sign, int64_t now_ns) {
  const std::string name = NameIn(path);
  const bool fits = options_.pattern.empty() || ::fnmatch(options_.pattern.c_str(), name.c_str(), 0) == 0;
  if (name.starts_with('.') || IsJournal(name) || !fits) {
    return;
  }
  const std::optional<FileKey> key = KeyOf(path);
  if (key && options_.is_news(*key)) {
    list_.Note({.key = *key, .has_journal = false}, sign, now_ns);
  }
}

void FolderWatch::Scan(int64_t now_ns) {
  const int64_t cpu_before_ns = ThreadCpuNs();
  for (const std::string& folder : folders_) {
    ScanFolder(folder, now_ns);
  }
  const int64_t cost_ns = ThreadCpuNs() - cpu_before_ns;
  next_scan_ns_ = now_ns + std::max(must_poll_ ? kPollNs : kRescanNs, kScanShare * cost_ns);
}

void FolderWatch::ScanFolder(const std::string& folder, int64_t now_ns) {
  Watch(folder);
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    const std::string path = entry->path().string();
    if (entry->path().filename().string().starts_with('.')) {
      continue;
    }
    if (entry->is_directory(ignored) && !entry->is_symlink(ignored)) {
      ScanFolder(path, now_ns);
    } else {
      Consider(path, FileSign::kSeen, now_ns);
    }
  }
  if (error) {
    Complain(folder, error.message());
  }
}

void FolderWatch::Watch(const std::string& folder) {
  if (!watch_) {
    return;
  }
  const absl::Status added = watch_->Add(folder);
  if (!added.ok() && !absl::IsNotFound(added)) {
    must_poll_ = true;
    Complain(folder, std::string(added.message()));
  }
}

void FolderWatch::Complain(const std::string& folder, const std::string& why) {
  if (complained_.insert(folder).second) {
    LogWarning("{}: {}", folder, why);
  }
}

}  // namespace lockstep
