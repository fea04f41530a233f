// What becomes of memory that the process has freed: kept for what is allocated next, or handed back to the system.
// Of programs that link jemalloc, and of those with the allocator of the system (glibc). Thread safe.
#pragma once

namespace lockstep {

// For programs that read traces: what is free goes back soon, and stages that run on different threads share it. Call
// it before any thread starts.
void UseLittleMemory();
// From now on, for answers, which free and allocate much: what is free is kept for a second. Only jemalloc can.
void KeepFreeMemory();
// Hands back what is free now: between stages of work that need little of each other's.
void ReturnFreeMemory();

}  // namespace lockstep
