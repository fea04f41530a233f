#include "platform/secret_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "analysis/base/hash128.h"
#include "analysis/base/status_macros.h"
#include "platform/file_system.h"

namespace lockstep {
namespace {

constexpr int64_t kMaxTokenFileBytes = 4096;

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool IsTokenCharacter(char c) { return c > ' ' && c <= '~'; }

}  // namespace

absl::StatusOr<std::string> ReadSecretFile(const std::string& path, int64_t limit_bytes) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) {
    return absl::ErrnoToStatus(errno, fmt::format("cannot read {}", path));
  }
  if (!S_ISREG(facts.st_mode)) {
    return absl::InvalidArgumentError(fmt::format("{} is no regular file", path));
  }
  if ((facts.st_mode & (S_IROTH | S_IWOTH)) != 0) {
    return absl::PermissionDeniedError(
        fmt::format("{} holds secrets and is open to every user of this machine (mode {:o}): chmod 600 {}", path,
                    facts.st_mode & 07777U, path));
  }
  return ReadSmallFile(path, limit_bytes);
}

absl::StatusOr<std::string> ReadTokenFile(const std::string& path) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string text, ReadSecretFile(path, kMaxTokenFileBytes));
  const std::string_view token = Trimmed(text);
  if (token.empty() || !std::all_of(token.begin(), token.end(), IsTokenCharacter)) {
    return absl::InvalidArgumentError(
        fmt::format("{} must hold one token of printable characters without spaces, and nothing else", path));
  }
  return std::string(token);
}

uint64_t FileVersion(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) {
    return 0;
  }
  HashBuilder version;
  version.Add(static_cast<int64_t>(facts.st_ino)).Add(int64_t{facts.st_size}).Add(static_cast<int64_t>(facts.st_mode));
  version.Add(int64_t{facts.st_mtim.tv_sec}).Add(int64_t{facts.st_mtim.tv_nsec});
  version.Add(int64_t{facts.st_ctim.tv_sec}).Add(int64_t{facts.st_ctim.tv_nsec});
  return version.Finish().low | 1U;
}

}  // namespace lockstep
