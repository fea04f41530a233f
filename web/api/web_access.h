// Who may see what through the pages: decided elsewhere, by the same tokens as for the other ways to ask.
#pragma once

#include <absl/status/status.h>

#include <optional>
#include <string_view>

#include "platform/digest.h"

namespace lockstep {

// Thread safe.
class WebAccess {
 public:
  virtual ~WebAccess() = default;
  // Whether who has the token with this SHA-256 may read this run; null `run`: may list runs at all.
  // kUnauthenticated: nobody has it; kPermissionDenied: its role or its prefix does not allow it.
  [[nodiscard]] virtual absl::Status MayRead(const Digest& token, std::optional<std::string_view> run) = 0;
};

}  // namespace lockstep
