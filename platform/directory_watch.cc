#include "platform/directory_watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace lockstep {
namespace {

constexpr uint32_t kMask = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_ONLYDIR;

// f_type of statfs(2): NFS, SMB, SMB2, CIFS, Lustre, FUSE, Ceph, GPFS, BeeGFS, AFS, 9P.
constexpr std::array<uint32_t, 11> kNetworkTypes = {0x6969,     0x517B,     0xFE534D42, 0xFF534D42,
                                                    0x0BD00BD0, 0x65735546, 0x00C36400, 0x47504653,
                                                    0x19830326, 0x5346414F, 0x01021997};

}  // namespace

absl::StatusOr<DirectoryWatch> DirectoryWatch::Create() {
  UniqueFd events(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  UniqueFd wake(events ? ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1);
  if (!wake) {
    return absl::ErrnoToStatus(errno, "cannot watch folders");
  }
  return DirectoryWatch(std::move(events), std::move(wake));
}

absl::Status DirectoryWatch::Add(const std::string& folder) {
  const int descriptor = ::inotify_add_watch(events_fd_.get(), folder.c_str(), kMask);
  if (descriptor < 0) {
    return absl::ErrnoToStatus(errno, fmt::format("cannot watch {}", folder));
  }
  folders_[descriptor] = folder;
  return absl::OkStatus();
}

DirectoryEvents DirectoryWatch::Wait(int64_t timeout_ns) {
  std::array<pollfd, 2> fds = {pollfd{events_fd_.get(), POLLIN, 0}, pollfd{wake_fd_.get(), POLLIN, 0}};
  const int64_t timeout_ms = std::clamp<int64_t>((timeout_ns + 999'999) / 1'000'000, 0, 1'000'000'000);
  ::poll(fds.data(), fds.size(), static_cast<int>(timeout_ms));
  uint64_t wakes = 0;
  const ssize_t ignored = ::read(wake_fd_.get(), &wakes, sizeof wakes);
  static_cast<void>(ignored);
  DirectoryEvents events;
  Read(events);
  return events;
}

void DirectoryWatch::Read(DirectoryEvents& events) {
  alignas(inotify_event) std::array<char, 64 << 10> buffer;
  for (ssize_t got; (got = ::read(events_fd_.get(), buffer.data(), buffer.size())) > 0;) {
    for (ssize_t at = 0; at < got;) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const std::string name(buffer.data() + at + sizeof event,
                             ::strnlen(buffer.data() + at + sizeof event, event.len));
      at += static_cast<ssize_t>(sizeof event + event.len);
      const auto folder = folders_.find(event.wd);
      if ((event.mask & IN_Q_OVERFLOW) != 0) {
        events.lost = true;
      } else if (folder == folders_.end()) {
        continue;
      } else if ((event.mask & IN_IGNORED) != 0) {
        folders_.erase(folder);
      } else if ((event.mask & IN_ISDIR) != 0) {
        events.folders_changed = true;
      } else if ((event.mask & IN_CLOSE_WRITE) != 0) {
        events.closed.push_back(folder->second + "/" + name);
      } else if ((event.mask & IN_MOVED_TO) != 0) {
        events.moved_in.push_back(folder->second + "/" + name);
      }
    }
  }
}

void DirectoryWatch::Wake() const {
  const uint64_t one = 1;
  const ssize_t ignored = ::write(wake_fd_.get(), &one, sizeof one);
  static_cast<void>(ignored);  // it takes it unless it is already awake
}

bool IsOnNetwork(const std::string& folder) {
  struct statfs info {};
  if (::statfs(folder.c_str(), &info) != 0) {
    return false;
  }
  const auto type = static_cast<uint32_t>(info.f_type);
  return std::find(kNetworkTypes.begin(), kNetworkTypes.end(), type) != kNetworkTypes.end();
}

}  // namespace lockstep
