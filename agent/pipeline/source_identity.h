// Identity and claims of a source beyond what the trace's metadata says: the file's fingerprint, ranks and hosts in
// file names, the rank map. No clock, no path enters the identity.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/pipeline/condense_file.h"
#include "analysis/base/hash128.h"

namespace lockstep {

// Hash over size, first and last 64 KiB of the file.
absl::StatusOr<Hash128> FingerprintOf(const std::string& path);

// "rank3_trace.json" -> 3; "worker3..." -> 3; SGLang's "-TP-3" only when it stands alone.
std::optional<int32_t> RankInFileName(std::string_view path);

// "{host}_{pid}.{time}.pt.trace.json[.gz]", only if pid is the trace's own.
std::optional<std::string> HostInFileName(std::string_view path, int64_t pid);

// Path equal, or equal from a folder boundary on.
[[nodiscard]] bool SpeaksOf(const RankMapRow& row, std::string_view path);
// The row of the rank map that fits, if any: it speaks of the path, and of pid and device where it gives them.
const RankMapRow* FindInRankMap(const std::vector<RankMapRow>& map, std::string_view path, int64_t pid, int32_t device);

}  // namespace lockstep
