#include "platform/reserved_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace lockstep {
namespace {

// Bytes of it that the system has given.
size_t Resident(void* data, size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  EXPECT_EQ(mincore(data, bytes, pages.data()), 0);
  size_t resident = 0;
  for (const unsigned char is_there : pages) resident += (is_there & 1U) != 0 ? page : 0;
  return resident;
}

TEST(ReservedMemory, TakesNothingBeforeItIsWrittenTo) {
  constexpr size_t kBytes = size_t{64} << 20;
  const ReservedMemory memory(kBytes);
  EXPECT_EQ(Resident(memory.data(), kBytes), 0U);
  for (size_t i = 0; i < 10'000; ++i) memory.data()[i] = std::byte{1};
  EXPECT_GT(Resident(memory.data(), kBytes), 0U);
  EXPECT_LE(Resident(memory.data(), kBytes), size_t{64} << 10);
  memory.data()[kBytes - 1] = std::byte{1};  // to the last byte
  EXPECT_LE(Resident(memory.data(), kBytes), size_t{64} << 10);
}

TEST(ReservedMemory, IsAlignedAndWritableToItsEnd) {
  for (const size_t bytes : {size_t{1}, size_t{4096}, (size_t{256} << 10) + 1, size_t{5} << 20}) {
    const ReservedMemory memory(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % alignof(std::max_align_t), 0U);
    for (const size_t i : {size_t{0}, bytes / 2, bytes - 1}) memory.data()[i] = std::byte{1};
  }
  EXPECT_EQ(ReservedMemory(0).data(), nullptr);
}

// Sanitizers need addresses of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
TEST(ReservedMemory, ComesFromTheAllocatorWhereAddressesAreLimited) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit none = before;
  none.rlim_cur = size_t{1} << 20;  // less than the process has
  ASSERT_EQ(setrlimit(RLIMIT_AS, &none), 0);
  const ReservedMemory memory(1'000);
  EXPECT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  ASSERT_NE(memory.data(), nullptr);
  memory.data()[999] = std::byte{1};
}
#endif

TEST(ReservedVector, TakesLittleMoreThanItHolds) {
  constexpr size_t kCapacity = size_t{8} << 20;
  constexpr size_t kSmall = size_t{128} << 10;
  constexpr size_t kLarge = size_t{5} << 19;  // of the largest page, and what is fetched at a time
  for (const size_t count : {size_t{1}, size_t{1'000}, size_t{100'000}, kCapacity}) {
    ReservedVector<int64_t> vector(kCapacity);
    for (size_t i = 0; i < count; ++i) vector.push_back(7);
    const size_t bytes = count * sizeof(int64_t);
    EXPECT_LE(Resident(vector.data(), kCapacity * sizeof(int64_t)),
              bytes + (bytes < kSmall ? std::max(bytes, size_t{24} << 10) : kLarge));
  }
}

TEST(ReservedVector, HoldsWhatWasAddedWhereverItMoves) {
  ReservedVector<int64_t> vector(100'000);
  for (int64_t i = 0; i < 100'000; ++i) vector.push_back(i);
  ReservedVector<int64_t> moved = std::move(vector);
  ASSERT_EQ(moved.size(), 100'000U);
  int64_t sum = 0;
  for (const int64_t value : moved) sum += value;
  EXPECT_EQ(sum, int64_t{99'999} * 50'000);
  moved.clear();
  EXPECT_TRUE(moved.empty());
  moved.push_back(7);
  EXPECT_EQ(moved[0], 7);
  moved = ReservedVector<int64_t>();
  EXPECT_EQ(moved.capacity(), 0U);
}

}  // namespace
}  // namespace lockstep
