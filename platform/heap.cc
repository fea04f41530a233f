#include "platform/heap.h"

#include <malloc.h>
#include <sys/prctl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <system_error>
#include <thread>

#include "platform/executor.h"
#include "platform/mutex.h"

// Of jemalloc; null where the program does not link it.
extern "C" int mallctl(const char* name, void* old, size_t* old_size, void* value, size_t size) __attribute__((weak));

// Read by jemalloc when it starts: the system is asked for large pages. It has them only where they are let
// (SetLargePages). One arena for each processor, not four: each has large pages of its own that are partly used.
extern "C" const char* malloc_conf;
const char* malloc_conf = "thp:always,percpu_arena:percpu";

namespace lockstep {
namespace {

bool HasJemalloc() { return mallctl != nullptr; }

// What jemalloc does not know or cannot do is left as it is, and false: no result hangs on it.
template <typename Value>
bool Set(const char* name, Value value) {
  return mallctl(name, nullptr, nullptr, &value, sizeof value) == 0;
}

void SetDecay(std::ptrdiff_t milliseconds) {
  (void)Set("arenas.dirty_decay_ms", milliseconds);  // of arenas to come
  unsigned arenas = 0;
  size_t size = sizeof arenas;
  (void)mallctl("arenas.narenas", &arenas, &size, nullptr, 0);
  for (unsigned i = 0; i < arenas; ++i) {
    std::array<char, 64> name{};
    (void)std::snprintf(name.data(), name.size(), "arena.%u.dirty_decay_ms", i);
    (void)Set(name.data(), milliseconds);
  }
}

// Whether pages that are touched for the first time may be large ones.
void SetLargePages(bool let) { (void)prctl(PR_SET_THP_DISABLE, let ? 0 : 1, 0, 0, 0); }

constexpr std::ptrdiff_t kForever = -1;
constexpr std::ptrdiff_t kKeptMs = 1'000;
constexpr std::ptrdiff_t kReusedMs = 100;  // long enough for the next allocation of a reader to find it

void Purge() {
  constexpr const char* kAll = "arena.4096.purge";  // MALLCTL_ARENAS_ALL
  (void)mallctl(kAll, nullptr, nullptr, nullptr, 0);
}

// From now on what is free goes back after a while, in a process that has come to rest too: by a thread of jemalloc's.
// Without that, at once as far as it is free now.
void KeepForAWhile() {
  SetDecay(kKeptMs);
  if (!Set("background_thread", true)) Purge();
}

// Beside an answer the thread would only be woken again and again.
void KeepForever() {
  (void)Set("background_thread", false);
  SetDecay(kForever);
}

// Of sizes; 0: it is not known.
size_t Statistic(const char* name) {
  size_t value = 0;
  size_t size = sizeof value;
  return mallctl(name, &value, &size, nullptr, 0) == 0 ? value : 0;
}

// Whether so much is free and not handed back that it cannot be what is allocated next, in a process that has become
// large.
bool KeepsTooMuch() {
  constexpr size_t kMostFree = size_t{512} << 20;
  constexpr size_t kLarge = size_t{2560} << 20;
  uint64_t epoch = 1;
  (void)mallctl("epoch", nullptr, nullptr, &epoch, sizeof epoch);  // else what was told before is told again
  const size_t page = Statistic("arenas.page");
  return Statistic("stats.arenas.4096.pdirty") * page > kMostFree && Statistic("stats.resident") > kLarge;
}

// While somebody holds free memory, it is handed back only where it is too much: after a stage of work that needed far
// more than those that follow.
class Holders {
 public:
  ~Holders() {
    {
      const MutexLock lock(mutex_);
      closed_ = true;
      changed_.NotifyAll();
    }
    if (watch_.joinable()) watch_.join();
  }

  void Come() LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (++count_ > 1 || !StartWatch()) return;
    SetLargePages(true);
    KeepForever();
    changed_.NotifyAll();
  }
  void Go() LOCKSTEP_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (--count_ > 0) return;
    KeepForAWhile();
    changed_.NotifyAll();
  }

 private:
  // False where the system gives no thread: then nothing is kept, as nobody would see that it is too much.
  bool StartWatch() LOCKSTEP_REQUIRES(mutex_) {
    try {
      if (!watch_.joinable()) watch_ = std::thread([this] { Watch(); });
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }
  void Watch() LOCKSTEP_EXCLUDES(mutex_) {
    constexpr int64_t kPeriodNs = 100'000'000;
    const MutexLock lock(mutex_);
    while (!closed_) {
      if (count_ == 0) {
        changed_.Wait(mutex_);
        continue;
      }
      changed_.WaitFor(mutex_, kPeriodNs);
      mutex_.Unlock();  // handing back takes long, and nobody need wait for it
      if (KeepsTooMuch()) Purge();
      mutex_.Lock();
    }
  }

  Mutex mutex_;
  CondVar changed_;
  int count_ LOCKSTEP_GUARDED_BY(mutex_) = 0;
  bool closed_ LOCKSTEP_GUARDED_BY(mutex_) = false;
  std::thread watch_;  // from the first holder on
};

Holders& KeptMemoryHolders() {
  static Holders holders;
  return holders;
}

}  // namespace

void UseLittleMemory() {
  if (HasJemalloc()) {
    SetLargePages(false);
    SetDecay(kReusedMs);
    return;
  }
#ifdef __GLIBC__
  constexpr int kLarge = 1 << 20;
  mallopt(M_ARENA_MAX, static_cast<int>(CpuCount()));  // else eight for each core, and none gives to another
  mallopt(M_MMAP_THRESHOLD, kLarge);                   // else it grows with what was freed, up to 32 MiB
  mallopt(M_TRIM_THRESHOLD, 2 * kLarge);
#endif
}

void KeepFreeMemory() {
  if (!HasJemalloc()) {
    return;
  }
  KeepForAWhile();
}

void UseMemoryFreely() {
  KeepFreeMemory();
  if (HasJemalloc()) SetLargePages(true);
}

void ReturnFreeMemory() {
  if (HasJemalloc()) {
    Purge();
    return;
  }
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

KeptMemory::KeptMemory() {
  if (HasJemalloc()) KeptMemoryHolders().Come();
}

KeptMemory::~KeptMemory() {
  if (HasJemalloc()) KeptMemoryHolders().Go();
}

}  // namespace lockstep
