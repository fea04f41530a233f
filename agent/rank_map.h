// --rank-map FILE: which rank a source is, said by a person. CSV with the header path,pid,device,rank,host; pid, device
// and host may be empty.
#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>
#include <vector>

#include "agent/pipeline/condense_file.h"

namespace lockstep {

// kInvalidArgument names the line, what stands there and what is needed. `name` is the file's, for messages.
absl::StatusOr<std::vector<RankMapRow>> ParseRankMap(std::string_view text, std::string_view name);
absl::StatusOr<std::vector<RankMapRow>> ReadRankMap(const std::string& path);

}  // namespace lockstep
