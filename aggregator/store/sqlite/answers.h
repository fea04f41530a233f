// The answers that a store keeps about its runs: table `answer` (aggregator/store/README.md). The caller holds the
// connection; WriteAnswers runs inside its transaction.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aggregator/store/job_store.h"
#include "platform/sqlite.h"

namespace lockstep {

inline constexpr int64_t kMaxAnswerBytes = int64_t{64} << 20;    // of one, as text
inline constexpr int64_t kMaxOfRunBytes = int64_t{64} << 20;     // of a run, as stored
inline constexpr int64_t kMaxOfStoreBytes = int64_t{256} << 20;  // of all runs

struct PackedAnswer {
  Hash128 key;
  std::string bytes;
};

// Those that are not too large to be kept; much is packed on all cores.
[[nodiscard]] std::vector<PackedAnswer> PackAnswers(const std::vector<KeptAnswer>& answers);

absl::Status WriteAnswers(Database& db, const std::string& run, const RunContent& content,
                          const std::vector<PackedAnswer>& answers);
// As it was packed; nullopt = none.
[[nodiscard]] absl::StatusOr<std::optional<std::string>> ReadAnswer(Database& db, const std::string& run,
                                                                    const Hash128& key);
// kDataLoss when it does not decode. Pure.
[[nodiscard]] absl::StatusOr<std::string> UnpackAnswer(std::string_view bytes);

}  // namespace lockstep
