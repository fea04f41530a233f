// An unlinked temporary file to which sorted runs are spilled: gone with the process, whatever happens to it.
//
// Errors: kResourceExhausted when the folder has no room (message says how much was needed, where, and to choose
// --tmp), kPermissionDenied or kNotFound when it cannot be used. One thread at a time.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "platform/unique_fd.h"

namespace lockstep {

class SpillFile {
 public:
  static absl::StatusOr<SpillFile> Create(const std::string& folder);

  // Appends and returns the offset at which the bytes stand.
  absl::StatusOr<int64_t> Append(std::span<const std::byte> bytes);
  absl::Status Read(int64_t offset, std::span<std::byte> into) const;
  [[nodiscard]] int64_t size() const { return size_; }

 private:
  SpillFile(UniqueFd fd, std::string folder) : fd_(std::move(fd)), folder_(std::move(folder)) {}
  UniqueFd fd_;
  int64_t size_ = 0;
  std::string folder_;
};

}  // namespace lockstep
