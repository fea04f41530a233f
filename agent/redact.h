// Takes the names of kernels, ranges and annotations out of what leaves the node (--redact), so that who reads the
// spool, the wire or the store learns nothing of how the program is built. All that rests on names (communication,
// families, steps, phases) has been decided before.
//
// A name becomes n_BASE<NAME>: 16 hexadecimal digits each, the beginnings of HMAC-SHA256 of the function's own name and
// of the whole one. The same key gives the same name on every node, so that ranks are still matched and --group-by base
// still groups; without the key nobody can even test a guess. Names of steps keep their number at the end. Names of API
// calls stay: they are CUDA's. Paths, hosts and communicators stay.
// Thread safe.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <utility>

#include "analysis/model/source.h"

namespace lockstep {

struct Batch;

class NameRedactor {
 public:
  // The key: 16 to 4096 printable characters without spaces in a file that not every user may read.
  static absl::StatusOr<NameRedactor> FromFile(const std::string& path);
  explicit NameRedactor(std::string key) : key_(std::move(key)) {}

  // The names that the batch defines; each is defined in the batch of its first use.
  void Redact(Batch& batch) const;
  // The capture's own messages, which may hold any text: of each is told only whether it speaks of lost data.
  static void Redact(SourceContext& context);

  [[nodiscard]] std::string Redacted(std::string_view name) const;
  [[nodiscard]] std::string RedactedStep(std::string_view name) const;
  // Tells keys apart and says nothing about them.
  [[nodiscard]] std::string KeyMark() const;

 private:
  [[nodiscard]] std::string Hashed(std::string_view text) const;

  std::string key_;
};

}  // namespace lockstep
