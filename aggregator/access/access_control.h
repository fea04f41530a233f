// Answers for every call whether its token allows it, from a token file that may change at any time.
//
// Errors tell what is missing and never a token: kUnauthenticated (no token, or none that is known), kPermissionDenied
// (its role or its prefix does not allow it). Thread safe.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "aggregator/access/access_policy.h"
#include "aggregator/access/token_table.h"
#include "platform/mutex.h"

namespace lockstep {

class AccessControl {
 public:
  // Reads the file; refuses one that others may read, or that has a wrong line.
  static absl::StatusOr<std::unique_ptr<AccessControl>> Open(const std::string& path);

  // `authorization` is the header of the call, "Bearer TOKEN"; "" = none came. Null `run`: some run.
  absl::Status Allow(std::string_view authorization, Action action, std::optional<std::string_view> run)
      LOCKSTEP_EXCLUDES(mutex_);
  // The same for who showed the token before: `token` is its SHA-256.
  absl::Status Allow(const Digest& token, Action action, std::optional<std::string_view> run) LOCKSTEP_EXCLUDES(mutex_);

 private:
  explicit AccessControl(std::string path) : path_(std::move(path)) {}

  absl::Status Load() LOCKSTEP_REQUIRES(mutex_);
  // Reads a changed file. One that cannot be used is told in the log, and what was valid stays so.
  void Refresh() LOCKSTEP_REQUIRES(mutex_);

  const std::string path_;
  Mutex mutex_;
  uint64_t version_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<const TokenTable> tokens_ LOCKSTEP_GUARDED_BY(mutex_);
};

}  // namespace lockstep
