#include "agent/pipeline/source_identity.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "analysis/base/ascii.h"
#include "platform/unique_fd.h"

namespace lockstep {
namespace {

constexpr int64_t kEdgeBytes = 64 << 10;

std::string_view FileNameOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::optional<int64_t> NumberAt(std::string_view text) {
  size_t digits = 0;
  while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0) ++digits;
  int64_t value = 0;
  if (digits == 0 || digits > 9) return std::nullopt;
  std::from_chars(text.data(), text.data() + digits, value);
  return value;
}

// word (not inside a longer word), separators, digits.
std::optional<int32_t> NumberAfterWord(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if (at > 0 && std::isalpha(static_cast<unsigned char>(text[at - 1])) != 0) continue;
    std::string_view rest = text.substr(at + word.size());
    while (!rest.empty() && std::string_view("[-_ ").find(rest.front()) != std::string_view::npos)
      rest.remove_prefix(1);
    if (const auto number = NumberAt(rest)) return static_cast<int32_t>(*number);
  }
  return std::nullopt;
}

std::string ReadAt(int fd, int64_t offset, int64_t size) {
  std::string bytes(static_cast<size_t>(size), '\0');
  const ssize_t got = ::pread(fd, bytes.data(), bytes.size(), offset);
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

}  // namespace

absl::StatusOr<Hash128> FingerprintOf(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return absl::NotFoundError(fmt::format("{}: cannot open: {}", path, std::strerror(errno)));
  struct stat info {};
  ::fstat(fd.get(), &info);
  HashBuilder hash;
  hash.Add(int64_t{info.st_size});
  hash.Add(ReadAt(fd.get(), 0, kEdgeBytes));
  hash.Add(ReadAt(fd.get(), std::max<int64_t>(0, info.st_size - kEdgeBytes), kEdgeBytes));
  return hash.Finish();
}

std::optional<int32_t> RankInFileName(std::string_view path) {
  const std::string name = Lowered(FileNameOf(path));
  if (const auto rank = NumberAfterWord(name, "rank")) return rank;
  if (const auto rank = NumberAfterWord(name, "worker")) return rank;
  const bool composite = name.find("-dp-") != std::string::npos || name.find("-pp-") != std::string::npos ||
                         name.find("-ep-") != std::string::npos;
  const size_t tp = name.find("-tp-");
  if (composite || tp == std::string::npos) return std::nullopt;
  const auto number = NumberAt(std::string_view(name).substr(tp + 4));
  return number ? std::optional(static_cast<int32_t>(*number)) : std::nullopt;
}

std::optional<std::string> HostInFileName(std::string_view path, int64_t pid) {
  const std::string_view name = FileNameOf(path);
  const size_t suffix = name.find(".pt.trace.json");
  if (suffix == std::string_view::npos || pid < 0) return std::nullopt;
  const std::string marker = fmt::format("_{}.", pid);
  const size_t at = name.find(marker);
  if (at == std::string_view::npos || at == 0 || at > suffix) return std::nullopt;
  return std::string(name.substr(0, at));
}

bool SpeaksOf(const RankMapRow& row, std::string_view path) {
  return path == row.path ||
         (path.ends_with(row.path) && !row.path.empty() && path[path.size() - row.path.size() - 1] == '/');
}

const RankMapRow* FindInRankMap(const std::vector<RankMapRow>& map, std::string_view path, int64_t pid,
                                int32_t device) {
  for (const RankMapRow& row : map) {
    if (!SpeaksOf(row, path) || (row.pid && *row.pid != pid) || (row.device && *row.device != device)) continue;
    return &row;
  }
  return nullptr;
}

}  // namespace lockstep
