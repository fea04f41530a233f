#include "web/api/sessions.h"

#include <algorithm>

#include "analysis/base/time.h"

namespace lockstep {
namespace {

constexpr size_t kCookieBytes = 32;

}  // namespace

std::string SessionTable::Begin(const Digest& token) {
  std::string cookie = RandomHex(kCookieBytes);
  const MutexLock lock(mutex_);
  if (sessions_.size() >= kMost) {
    sessions_.erase(std::min_element(sessions_.begin(), sessions_.end(), [](const auto& a, const auto& b) {
      return a.second.begun_ns < b.second.begun_ns;
    }));
  }
  sessions_[Sha256(cookie)] = {.token = token, .begun_ns = clock_.MonotonicNs()};
  return cookie;
}

std::optional<Digest> SessionTable::Find(std::string_view cookie) const {
  const Digest key = Sha256(cookie);
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(key);
  if (found == sessions_.end() || clock_.MonotonicNs() - found->second.begun_ns > kLifetimeS * kNsPerS) {
    return std::nullopt;
  }
  return found->second.token;
}

void SessionTable::End(std::string_view cookie) {
  const MutexLock lock(mutex_);
  sessions_.erase(Sha256(cookie));
}

}  // namespace lockstep
