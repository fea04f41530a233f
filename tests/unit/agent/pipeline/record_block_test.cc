#include "agent/pipeline/record_block.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace lockstep {
namespace {

std::vector<uint32_t> RoundTrip(const std::vector<uint32_t>& words, size_t record_words) {
  const size_t bytes = record_words * sizeof(uint32_t);
  std::vector<std::byte> packed;
  PackRecords(std::as_bytes(std::span(words)), bytes, packed);
  const size_t size = packed.size();
  packed.resize(size + PackedSlack(bytes));
  std::vector<uint32_t> out(words.size());
  EXPECT_TRUE(UnpackRecords(packed, size, bytes, std::as_writable_bytes(std::span(out))));
  return out;
}

TEST(RecordBlock, WordsOfAnySizeComeBack) {
  std::mt19937_64 random(1);
  for (size_t record_words = 1; record_words <= 19; ++record_words) {
    std::vector<uint32_t> words(record_words * 300);
    for (uint32_t& word : words) word = static_cast<uint32_t>(random() >> (32 + random() % 32));
    EXPECT_EQ(RoundTrip(words, record_words), words) << record_words;
  }
}

TEST(RecordBlock, TheLargestDifferencesComeBack) {
  const std::vector<uint32_t> words = {0, 0xffff'ffff, 0x8000'0000, 0x7fff'ffff, 0xffff'ffff, 0, 0x8000'0001, 1};
  EXPECT_EQ(RoundTrip(words, 1), words);
  EXPECT_EQ(RoundTrip(words, 2), words);
}

TEST(RecordBlock, NeighboursTakeWhatTheyDifferIn) {
  std::vector<uint32_t> words;
  for (uint32_t i = 0; i < 1'000; ++i) words.insert(words.end(), {1'000'000 + 50 * i, 7, 0xdead'beef, i});
  std::vector<std::byte> packed;
  PackRecords(std::as_bytes(std::span(words)), 4 * sizeof(uint32_t), packed);
  EXPECT_LT(packed.size(), 1'000 * 4U);
}

TEST(RecordBlock, WhatIsCutOffOrTooLongIsRefused) {
  const std::vector<uint32_t> words = {1, 2, 3, 1'000'000, 70'000, 6};
  constexpr size_t kBytes = 3 * sizeof(uint32_t);
  std::vector<std::byte> packed;
  PackRecords(std::as_bytes(std::span(words)), kBytes, packed);
  const size_t size = packed.size();
  packed.resize(size + PackedSlack(kBytes));
  std::vector<uint32_t> out(words.size());
  const auto into = std::as_writable_bytes(std::span(out));
  for (size_t shorter = 0; shorter < size; ++shorter) {
    EXPECT_FALSE(UnpackRecords(packed, shorter, kBytes, into)) << shorter;
  }
  EXPECT_FALSE(UnpackRecords(std::span(packed).first(size), size, kBytes, into)) << "nothing to read beyond the end";
  EXPECT_FALSE(UnpackRecords(packed, size, kBytes, into.first(kBytes))) << "more records than asked for";
  EXPECT_TRUE(UnpackRecords(packed, size, kBytes, into));
}

}  // namespace
}  // namespace lockstep
