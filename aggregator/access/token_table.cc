#include "aggregator/access/token_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace lockstep {
namespace {

constexpr size_t kMinTokenBytes = 16;
constexpr size_t kMaxTokenBytes = 512;
constexpr size_t kMaxPrefixBytes = 256;
constexpr std::string_view kHashed = "sha256:";
constexpr std::string_view kSpace = " \t\r";

std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t at = line.find_first_not_of(kSpace); at != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kSpace, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kSpace, end);
  }
  return words;
}

bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

std::optional<Digest> DigestOf(std::string_view word) {
  if (word.starts_with(kHashed)) {
    return DigestFromHex(word.substr(kHashed.size()));
  }
  const bool good = word.size() >= kMinTokenBytes && word.size() <= kMaxTokenBytes && IsPrintable(word);
  return good ? std::optional(Sha256(word)) : std::nullopt;
}

absl::Status Wrong(const char* what) { return absl::InvalidArgumentError(what); }

}  // namespace

absl::StatusOr<TokenTable::Entry> TokenTable::ParseLine(std::string_view line) {
  const std::vector<std::string_view> words = WordsOf(line);
  if (words.size() < 2 || words.size() > 3) {
    return Wrong("ROLE TOKEN [RUN-PREFIX] is expected");
  }
  const std::optional<Role> role = RoleFromName(words[0]);
  if (!role) {
    return Wrong("the role must be agent, reader or admin");
  }
  const std::optional<Digest> digest = DigestOf(words[1]);
  if (!digest) {
    return Wrong("the token must have 16 to 512 printable characters, or be sha256: and 64 hexadecimal digits");
  }
  const std::string_view prefix = words.size() == 3 ? words[2] : std::string_view();
  if (prefix.size() > kMaxPrefixBytes) {
    return Wrong("the run prefix is longer than any name of a run");
  }
  return Entry{.digest = *digest, .grant = {.role = *role, .run_prefix = std::string(prefix)}};
}

absl::StatusOr<TokenTable> TokenTable::Parse(std::string_view text) {
  TokenTable table;
  std::set<Digest> known;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t first = line.find_first_not_of(kSpace);
    if (first == std::string_view::npos || line[first] == '#') {
      continue;
    }
    absl::StatusOr<Entry> entry = ParseLine(line);
    if (entry.ok() && !known.insert(entry->digest).second) {
      entry = Wrong("the same token is also in an earlier line: make one for each line");
    }
    if (!entry.ok()) {
      return absl::InvalidArgumentError(fmt::format("line {}: {}", number, std::string(entry.status().message())));
    }
    table.entries_.push_back(*std::move(entry));
  }
  return table;
}

std::optional<Grant> TokenTable::Find(const Digest& digest) const {
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    found = SameDigest(entry.digest, digest) ? &entry : found;
  }
  return found == nullptr ? std::nullopt : std::optional(found->grant);
}

}  // namespace lockstep
