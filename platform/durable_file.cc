#include "platform/durable_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "analysis/base/status_macros.h"

namespace lockstep {
namespace {

constexpr mode_t kOwnerOnly = 0600;

absl::Status FileFailure(std::string_view what, const std::string& path, int error) {
  const std::string text = fmt::format("cannot {} {}", what, path);
  if (error == ENOSPC || error == EDQUOT) {
    return absl::ResourceExhaustedError(fmt::format("{}: the disk is full", text));
  }
  return absl::ErrnoToStatus(error, text);
}

}  // namespace

absl::StatusOr<DurableFile> DurableFile::Open(const std::string& path) { return OpenWith(path, O_CREAT); }
absl::StatusOr<DurableFile> DurableFile::OpenExisting(const std::string& path) { return OpenWith(path, 0); }

absl::StatusOr<DurableFile> DurableFile::OpenWith(const std::string& path, int flags) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | flags, kOwnerOnly));
  if (!fd) {
    return FileFailure("open", path, errno);
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) {
    return FileFailure("tell the size of", path, errno);
  }
  return DurableFile(std::move(fd), info.st_size, path);
}

absl::Status DurableFile::Append(std::string_view bytes) {
  int64_t at = size_;
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_.get(), bytes.data(), bytes.size(), at);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      const absl::Status failure = FileFailure("write to", path_, written == 0 ? EIO : errno);
      if (at > size_) {
        LOCKSTEP_RETURN_IF_ERROR(Truncate(size_));
      }
      return failure;
    }
    at += written;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  size_ = at;
  return absl::OkStatus();
}

absl::Status DurableFile::Sync() const {
  int result = 0;
  do {
    result = ::fdatasync(fd_.get());
  } while (result != 0 && errno == EINTR);
  return result == 0 ? absl::OkStatus() : FileFailure("sync", path_, errno);
}

absl::StatusOr<std::string> DurableFile::ReadAt(int64_t offset, int64_t size) const {
  std::string bytes(static_cast<size_t>(size), '\0');
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got =
        ::pread(fd_.get(), bytes.data() + filled, bytes.size() - filled, offset + static_cast<int64_t>(filled));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return FileFailure("read", path_, errno);
    }
    if (got == 0) {
      break;
    }
    filled += static_cast<size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

absl::Status DurableFile::Truncate(int64_t size) {
  if (::ftruncate(fd_.get(), size) != 0) {
    return FileFailure("shorten", path_, errno);
  }
  size_ = size;
  return absl::OkStatus();
}

void DurableFile::Reserve(int64_t bytes) const {
  // Without it an append may find the disk full, which it tells.
  static_cast<void>(::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, size_, bytes));
}

absl::StatusOr<FileLock> FileLock::Take(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwnerOnly));
  if (!fd) {
    return FileFailure("open", path, errno);
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return absl::AlreadyExistsError(fmt::format("{} is held by another process", path));
    }
    return FileFailure("lock", path, errno);
  }
  return FileLock(std::move(fd));
}

absl::StatusOr<FolderIdentity> FolderIdentity::Of(const std::string& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) {
    return FileFailure("find", folder, errno);
  }
  return FolderIdentity(folder, info.st_dev, info.st_ino);
}

absl::Status FolderIdentity::Check() const {
  struct stat info {};
  if (::stat(folder_.c_str(), &info) != 0) {
    return absl::UnavailableError(FileFailure("find", folder_, errno).message());
  }
  if (info.st_dev != device_ || info.st_ino != inode_) {
    return absl::UnavailableError(
        fmt::format("{} is another folder than at the start: put the old one back, or start again", folder_));
  }
  return absl::OkStatus();
}

absl::Status SyncFolder(const std::string& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) {
    return FileFailure("open", folder, errno);
  }
  return ::fsync(fd.get()) == 0 || errno == EINVAL ? absl::OkStatus() : FileFailure("sync", folder, errno);
}

absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  if (std::filesystem::create_directories(folder, error)) {
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  }
  return error ? FileFailure("make the folder", folder, error.value()) : absl::OkStatus();
}

absl::Status RemoveFile(const std::string& path) {
  return ::unlink(path.c_str()) == 0 || errno == ENOENT ? absl::OkStatus() : FileFailure("remove", path, errno);
}

absl::Status ReplaceFile(const std::string& path, std::string_view content) {
  const std::string fresh = path + ".new";
  LOCKSTEP_RETURN_IF_ERROR(RemoveFile(fresh));
  LOCKSTEP_ASSIGN_OR_RETURN(DurableFile file, DurableFile::Open(fresh));
  LOCKSTEP_RETURN_IF_ERROR(file.Append(content));
  LOCKSTEP_RETURN_IF_ERROR(file.Sync());
  if (::rename(fresh.c_str(), path.c_str()) != 0) {
    return FileFailure("replace", path, errno);
  }
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return SyncFolder(folder.empty() ? "." : folder);
}

absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) {
    return FileFailure("list", folder, error.value());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace lockstep
