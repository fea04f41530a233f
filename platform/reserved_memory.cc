#include "platform/reserved_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

namespace lockstep {
namespace {

constexpr size_t kLargePage = size_t{2} << 20;
constexpr size_t kSmallBeginning = size_t{256} << 10;  // in small pages, so that little room stays little

#ifdef MADV_POPULATE_WRITE
constexpr int kPopulate = MADV_POPULATE_WRITE;
#else
constexpr int kPopulate = 23;  // Linux 5.14; older ones refuse it
#endif

}  // namespace

void FetchPages(void* bytes, size_t count) {
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(bytes) + count;
  (void)madvise(reinterpret_cast<void*>(begin), end - begin, kPopulate);
}

ReservedMemory::ReservedMemory(size_t bytes) {
  if (bytes == 0) return;
  size_t map_bytes = 0;
  void* map = MAP_FAILED;
  if (!__builtin_add_overflow(bytes, kLargePage + kSmallBeginning, &map_bytes)) {
    map = mmap(nullptr, map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (map == MAP_FAILED) {
    data_ = static_cast<std::byte*>(::operator new(bytes));
    return;
  }
  map_ = map;
  map_bytes_ = map_bytes;
  const auto begin = reinterpret_cast<uintptr_t>(map) + kSmallBeginning;
  data_ = static_cast<std::byte*>(map) + (kLargePage - begin % kLargePage) % kLargePage;
  if (bytes > kSmallBeginning) (void)madvise(data_ + kSmallBeginning, bytes - kSmallBeginning, MADV_HUGEPAGE);
}

ReservedMemory::~ReservedMemory() {
  if (map_ != nullptr) {
    (void)munmap(map_, map_bytes_);
  } else {
    ::operator delete(data_);
  }
}

void ReservedMemory::Fetch(size_t from, size_t bytes) const {
  if (map_ != nullptr) FetchPages(data_ + from, bytes);
}

}  // namespace lockstep
