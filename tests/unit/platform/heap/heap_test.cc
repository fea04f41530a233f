#include "platform/heap.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

namespace lockstep {
namespace {

constexpr int64_t kMiB = 1 << 20;

int64_t ResidentBytes() {
  std::ifstream in("/proc/self/statm");
  int64_t pages = 0;
  in >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

// 64 MiB in pieces of one KiB, all freed but one in 4,096.
std::vector<std::unique_ptr<char[]>> FreeNearlyAll() {
  std::vector<std::unique_ptr<char[]>> pieces;
  for (int i = 0; i < 64 * 1024; ++i) {
    pieces.push_back(std::make_unique<char[]>(1024));
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i % 4096 != 0) {
      pieces[i] = nullptr;
    }
  }
  return pieces;
}

TEST(Heap, WhatIsKeptGoesBackWhenItIsAskedTo) {
  UseLittleMemory();
  KeepFreeMemory();
  const int64_t before = ResidentBytes();
  const auto left = FreeNearlyAll();
  // A thread of the allocator may be handing some of it back at this moment.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  do {
    ReturnFreeMemory();
  } while (ResidentBytes() - before >= 16 * kMiB && std::chrono::steady_clock::now() < end);
  EXPECT_LT(ResidentBytes() - before, 16 * kMiB);
  EXPECT_EQ(left[4096][0], 0);
}

TEST(Heap, WhatIsFreeIsKeptWhileSomebodyHoldsIt) {
  UseLittleMemory();
  const auto touch = [] {
    std::vector<std::unique_ptr<char[]>> large;
    for (int i = 0; i < 16; ++i) {
      large.push_back(std::make_unique<char[]>(4 * kMiB));
    }
  };
  {
    const KeptMemory one;
    { const KeptMemory other; }
    touch();
    const int64_t kept = ResidentBytes();
    touch();
    EXPECT_GE(ResidentBytes(), kept - 16 * kMiB);
    EXPECT_GE(kept, 60 * kMiB);
  }
  ReturnFreeMemory();
  EXPECT_LT(ResidentBytes(), 60 * kMiB);
}

TEST(Heap, WhatWasHeldGoesBackByItselfWhenTheLastHolderIsGone) {
  UseLittleMemory();
  KeepFreeMemory();
  const int64_t before = ResidentBytes();
  std::vector<std::unique_ptr<char[]>> left;
  {
    const KeptMemory held;
    left = FreeNearlyAll();
    EXPECT_GE(ResidentBytes() - before, 60 * kMiB);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (ResidentBytes() - before >= 16 * kMiB && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  EXPECT_LT(ResidentBytes() - before, 16 * kMiB);
  EXPECT_EQ(left[4096][0], 0);
}

TEST(Heap, OfLittleMemoryWhatIsFreeGoesBackWhileTheProcessWorks) {
  UseLittleMemory();
  const int64_t before = ResidentBytes();
  {
    std::vector<std::unique_ptr<char[]>> large;
    for (int i = 0; i < 16; ++i) {
      large.push_back(std::make_unique<char[]>(4 * kMiB));
    }
    EXPECT_GT(ResidentBytes() - before, 60 * kMiB);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (ResidentBytes() - before >= 16 * kMiB && std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 100; ++i) (void)std::make_unique<char[]>(64 * 1024);
  }
  EXPECT_LT(ResidentBytes() - before, 16 * kMiB);
}

}  // namespace
}  // namespace lockstep
