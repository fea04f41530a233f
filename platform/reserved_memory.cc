#include "platform/reserved_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace lockstep {
namespace {

constexpr size_t kLargePage = size_t{2} << 20;
constexpr size_t kSmallBeginning = size_t{256} << 10;  // in small pages, so that little room stays little

}  // namespace

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
  const auto begin = reinterpret_cast<uintptr_t>(map_) + kSmallBeginning;
  const size_t to_large = (kLargePage - begin % kLargePage) % kLargePage;
  data_ = static_cast<std::byte*>(map_) + to_large;
  // Where the system has none, these are small as well.
  if (bytes > kSmallBeginning) (void)madvise(data_ + kSmallBeginning, bytes - kSmallBeginning, MADV_HUGEPAGE);
}

ReservedMemory::~ReservedMemory() {
  if (map_ != nullptr) {
    (void)munmap(map_, map_bytes_);
  } else {
    ::operator delete(data_);
  }
}

}  // namespace lockstep
