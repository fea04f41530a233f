// What becomes of memory that the process has freed: kept for what is allocated next, or handed back to the system.
// Of programs that link jemalloc, and of those with the allocator of the system (glibc). Thread safe.
#pragma once

namespace lockstep {

// For programs that read traces: what is free goes back soon, pages are small, and stages that run on different threads
// share what is free. Call it before any thread starts.
void UseLittleMemory();
// From now on, for answers, which free and allocate much: what is free is kept for a second. Only jemalloc can.
void KeepFreeMemory();
// From now on, for programs that take batches or answer, and read no traces: as after KeepFreeMemory, and new pages are
// large where the system has such. To touch a small page for the first time costs more than what is written to it. Only
// jemalloc can.
void UseMemoryFreely();
// Hands back what is free now: between stages of work that need little of each other's.
void ReturnFreeMemory();

// While there is one, what is free is kept for what is allocated next, however long that takes, and new pages are large
// where the system has such: the analysis of a large run allocates again and again what it has just freed, and a page
// that was handed back costs far more than one that was kept. Takes up to a third more memory; in a process of more
// than 2.5 GiB all of it is handed back whenever it exceeds half a GiB, which is looked at ten times a second. When the
// last one goes it is as after KeepFreeMemory, but for the size of new pages. Changes nothing without jemalloc.
class KeptMemory {
 public:
  KeptMemory();
  ~KeptMemory();
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;
};

}  // namespace lockstep
