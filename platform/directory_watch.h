// Tells what happens in folders as it happens: inotify behind a small type. Other machines' changes on a network file
// system do not show; a full queue or a watch that cannot be had shows as `lost`. One thread; Wake from any.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lockstep {

struct DirectoryEvents {
  std::vector<std::string> closed;    // files that were closed after writing
  std::vector<std::string> moved_in;  // files that were renamed into place
  bool folders_changed = false;       // a folder has appeared: look again
  bool lost = false;                  // something was missed: look again
};

class DirectoryWatch {
 public:
  static absl::StatusOr<DirectoryWatch> Create();
  ~DirectoryWatch();
  DirectoryWatch(DirectoryWatch&& other) noexcept;
  DirectoryWatch& operator=(DirectoryWatch&& other) noexcept;
  DirectoryWatch(const DirectoryWatch&) = delete;

  // One folder, without those below it; again for a watched one changes nothing.
  absl::Status Add(const std::string& folder);
  // Waits for events, a wake or the end of the time.
  [[nodiscard]] DirectoryEvents Wait(int64_t timeout_ns);
  void Wake() const;

 private:
  DirectoryWatch(int events_fd, int wake_fd) : events_fd_(events_fd), wake_fd_(wake_fd) {}
  void Read(DirectoryEvents& events);
  int events_fd_ = -1;
  int wake_fd_ = -1;
  std::map<int, std::string> folders_;  // by watch descriptor
};

// Whether other machines write to the file system of this folder too, so that it must be looked at again and again.
[[nodiscard]] bool IsOnNetwork(const std::string& folder);

}  // namespace lockstep
