// The tokens that an aggregator knows, read from the text of its token file. Of each only the SHA-256 is kept.
//
// The text: one entry a line, words separated by spaces or tabs; empty lines and lines that begin with # are skipped.
//   ROLE TOKEN [RUN-PREFIX]             TOKEN: 16 to 512 printable characters
//   ROLE sha256:HEX [RUN-PREFIX]        HEX: the 64 digits that `printf %s TOKEN | sha256sum` prints
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "aggregator/access/access_policy.h"
#include "platform/digest.h"

namespace lockstep {

inline constexpr int64_t kMaxTokenTableBytes = int64_t{1} << 20;

class TokenTable {
 public:
  // kInvalidArgument names the line and what is wrong with it, never a word of its content.
  static absl::StatusOr<TokenTable> Parse(std::string_view text);

  // Compares with every entry, each in constant time, so that the time taken tells nothing about the tokens.
  [[nodiscard]] std::optional<Grant> Find(std::string_view token) const { return Find(Sha256(token)); }
  [[nodiscard]] std::optional<Grant> Find(const Digest& token) const;  // by its SHA-256
  [[nodiscard]] size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Digest digest{};
    Grant grant;
  };

  static absl::StatusOr<Entry> ParseLine(std::string_view line);

  std::vector<Entry> entries_;
};

}  // namespace lockstep
