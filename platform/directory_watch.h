// Tells what happens in folders as it happens: inotify behind a small type. Other machines' changes on a network file
// system do not show; a full queue or a watch that cannot be had shows as `lost`. One thread; Wake from any.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "platform/unique_fd.h"

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

  // One folder, without those below it; again for a watched one changes nothing.
  absl::Status Add(const std::string& folder);
  // Waits for events, a wake or the end of the time.
  [[nodiscard]] DirectoryEvents Wait(int64_t timeout_ns);
  void Wake() const;

 private:
  DirectoryWatch(UniqueFd events, UniqueFd wake) : events_fd_(std::move(events)), wake_fd_(std::move(wake)) {}
  void Read(DirectoryEvents& events);
  UniqueFd events_fd_;
  UniqueFd wake_fd_;
  std::map<int, std::string> folders_;  // by watch descriptor
};

// Whether other machines write to the file system of this folder too, so that it must be looked at again and again.
[[nodiscard]] bool IsOnNetwork(const std::string& folder);

}  // namespace lockstep
