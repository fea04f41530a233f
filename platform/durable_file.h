// Files that must survive the process and the machine: written at their end, synced on request; and the folder
// operations around them.
//
// Errors: kResourceExhausted when the disk is full (the file keeps its old length, the same call may succeed later),
// otherwise what the system said, with the path.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/unique_fd.h"

namespace lockstep {

// Append and Truncate from one thread at a time; ReadAt and Sync from any.
class DurableFile {
 public:
  // Opens or creates, readable by this user only.
  static absl::StatusOr<DurableFile> Open(const std::string& path);
  static absl::StatusOr<DurableFile> OpenExisting(const std::string& path);

  // All or nothing.
  absl::Status Append(std::string_view bytes);
  // Returns once what was appended is on the disk.
  absl::Status Sync() const;
  // Up to `size` bytes; fewer at the end of the file.
  [[nodiscard]] absl::StatusOr<std::string> ReadAt(int64_t offset, int64_t size) const;
  absl::Status Truncate(int64_t size);
  // Sets room aside behind the end, so that this many bytes can be appended even when the disk has filled up; as far as
  // the file system can.
  void Reserve(int64_t bytes) const;
  [[nodiscard]] int64_t size() const { return size_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  static absl::StatusOr<DurableFile> OpenWith(const std::string& path, int flags);
  DurableFile(UniqueFd fd, int64_t size, std::string path) : fd_(std::move(fd)), size_(size), path_(std::move(path)) {}
  UniqueFd fd_;
  int64_t size_ = 0;
  std::string path_;
};

// One process at a time; held until the object goes or the process ends, however it ends.
class FileLock {
 public:
  // kAlreadyExists when another process holds it.
  static absl::StatusOr<FileLock> Take(const std::string& path);

 private:
  explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

// The folder that a path led to, to be told from one that has taken its place: a new one, or the empty place where
// another disk was mounted. Thread safe.
class FolderIdentity {
 public:
  static absl::StatusOr<FolderIdentity> Of(const std::string& folder);
  // kUnavailable when the path leads elsewhere or nowhere now.
  [[nodiscard]] absl::Status Check() const;

 private:
  FolderIdentity(std::string folder, uint64_t device, uint64_t inode)
      : folder_(std::move(folder)), device_(device), inode_(inode) {}
  std::string folder_;
  uint64_t device_;
  uint64_t inode_;
};

// Makes the names in a folder durable: after files were created, renamed or removed.
absl::Status SyncFolder(const std::string& folder);
// With all parents, for this user only; one that exists is good.
absl::Status MakeFolder(const std::string& folder);
// A file that is not there is good.
absl::Status RemoveFile(const std::string& path);
// The whole content at once: after a crash the file has the old content or the new one.
absl::Status ReplaceFile(const std::string& path, std::string_view content);
// Names of the entries, sorted.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& folder);

}  // namespace lockstep
