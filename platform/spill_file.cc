#include "platform/spill_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

// Left free for others: a sort must not fill the disk of the node it runs on.
constexpr uint64_t kReserveBytes = 32ULL << 20;

absl::Status SpillFailure(const std::string& folder, std::string_view what, int error) {
  const std::string text =
      fmt::format("{}: cannot {} a temporary file for sorting: {}; choose another folder with --tmp", folder, what,
                  std::strerror(error));
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(text);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(text);
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(text);
    default:
      return absl::UnavailableError(text);
  }
}

absl::Status CheckRoom(const std::string& folder, uint64_t needed) {
  struct statvfs room {};
  if (::statvfs(folder.c_str(), &room) != 0) return absl::OkStatus();
  const uint64_t free_bytes = static_cast<uint64_t>(room.f_bavail) * room.f_frsize;
  if (free_bytes >= needed + kReserveBytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      fmt::format("{}: no room to sort: {} MiB needed (and {} MiB to be left free), {} MiB free; choose another folder "
                  "with --tmp",
                  folder, (needed >> 20) + 1, kReserveBytes >> 20, free_bytes >> 20));
}

}  // namespace

absl::StatusOr<SpillFile> SpillFile::Create(const std::string& folder) {
  std::string pattern = folder + "/lockstep-sort-XXXXXX";
  std::vector<char> name(pattern.begin(), pattern.end());
  name.push_back('\0');
  UniqueFd fd(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd) return SpillFailure(folder, "create", errno);
  ::unlink(name.data());
  return SpillFile(std::move(fd), folder);
}

absl::StatusOr<int64_t> SpillFile::Append(std::span<const std::byte> bytes) {
  if (absl::Status room = CheckRoom(folder_, bytes.size()); !room.ok()) return room;
  const int64_t begin = size_;
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd_.get(), bytes.data(), bytes.size(), size_);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return SpillFailure(folder_, "write", errno);
    size_ += written;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return begin;
}

absl::Status SpillFile::Read(int64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t got = ::pread(fd_.get(), into.data(), into.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return SpillFailure(folder_, "read back", got == 0 ? EIO : errno);
    offset += got;
    into = into.subspan(static_cast<size_t>(got));
  }
  return absl::OkStatus();
}

}  // namespace lockstep
