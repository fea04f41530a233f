// Browsers that have logged in. A browser cannot send a token with each page, so it exchanges the token once for the
// value of a cookie that no script can read. What is kept is the SHA-256 of either: a token that is taken out of the
// token file ends its sessions, too, because each request is judged by the token. Thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "platform/clock.h"
#include "platform/digest.h"
#include "platform/mutex.h"

namespace lockstep {

class SessionTable {
 public:
  static constexpr int64_t kLifetimeS = 12 * 3600;  // a working day
  static constexpr size_t kMost = 1024;             // beyond, the oldest ends

  explicit SessionTable(const Clock& clock = SystemClock()) : clock_(clock) {}

  // The value of the cookie.
  [[nodiscard]] std::string Begin(const Digest& token) LOCKSTEP_EXCLUDES(mutex_);
  // The token that the session was begun with.
  [[nodiscard]] std::optional<Digest> Find(std::string_view cookie) const LOCKSTEP_EXCLUDES(mutex_);
  void End(std::string_view cookie) LOCKSTEP_EXCLUDES(mutex_);

 private:
  struct Session {
    Digest token{};
    int64_t begun_ns = 0;
  };

  const Clock& clock_;
  mutable Mutex mutex_;
  // By the digest of the cookie: how long a search takes says nothing about the cookies themselves.
  std::map<Digest, Session> sessions_ LOCKSTEP_GUARDED_BY(mutex_);
};

}  // namespace lockstep
