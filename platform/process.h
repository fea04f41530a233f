// What this process asks of the system for itself.
#pragma once

#include <absl/status/status.h>

#include <cstdint>

namespace lockstep {

// Lowers (or, with the right, raises) the priority of the whole process: -20 first, 19 last.
absl::Status SetNiceness(int niceness);
// CPU time that this thread has used.
[[nodiscard]] int64_t ThreadCpuNs();
// CPU time that all threads of the process have used.
[[nodiscard]] int64_t ProcessCpuNs();

}  // namespace lockstep
