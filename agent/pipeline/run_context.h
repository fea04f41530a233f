// What people know of a run and no trace says: the model, the batch, a commit. It travels with each source, as options
// whose keys begin with kRunContext, so that comparisons know what they compare.
#pragma once

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <map>
#include <string>
#include <string_view>

#include "platform/file_system.h"

namespace lockstep {

using ContextByKey = std::map<std::string, std::string>;

inline constexpr std::string_view kContextFileName = "lockstep-context.json";

// "model=llama". A later value of a key replaces an earlier one. kInvalidArgument: no key, or no '='.
[[nodiscard]] absl::Status AddContext(const std::string& text, ContextByKey& context);

// Of the file of that name in the folder of `path`: one JSON object of text, numbers and truth values. Empty where
// there is none. kInvalidArgument names the file and what is wrong with it.
[[nodiscard]] absl::StatusOr<ContextByKey> ContextOfFolder(const std::string& path);

// Takes the context files out of what is to be read as traces. kInvalidArgument: one of them is malformed.
[[nodiscard]] absl::Status TakeOutContextFiles(InputFiles& inputs);

}  // namespace lockstep
