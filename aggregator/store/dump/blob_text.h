// What the blob columns of the store's tables hold, as indented lines.
#pragma once

#include <absl/status/status.h>

#include <string>
#include <string_view>

namespace lockstep {

enum class BlobForm { kHex, kLines };
// kHex: a hash or an id, to stand in the row's own line. Columns that nobody told about are hex: nothing is left out.
[[nodiscard]] BlobForm FormOf(std::string_view table, std::string_view column);

// Appends the lines of a blob whose form is kLines; kDataLoss when it does not decode.
[[nodiscard]] absl::Status AppendBlob(std::string_view table, std::string_view column, std::string_view bytes,
                                      std::string* out);

}  // namespace lockstep
