#include "agent/spool/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kFile = 7;

std::string FileOf(const std::vector<std::string>& payloads, uint64_t file = kFile) {
  std::string bytes;
  for (const std::string& payload : payloads) {
    bytes += EncodeFrame(FrameKind::kBatch, file, static_cast<int64_t>(bytes.size()), payload);
  }
  return bytes;
}

std::vector<std::string> Payloads(const FrameScan& scan) {
  std::vector<std::string> payloads;
  for (const Frame& frame : scan.frames) {
    payloads.emplace_back(frame.payload);
  }
  return payloads;
}

const std::vector<std::string> kPayloads = {"first", std::string(300, 'x'), "", "the last one"};

TEST(Frame, WhatIsWrittenIsRead) {
  const std::string bytes = FileOf(kPayloads);
  const FrameScan scan = ScanFrames(bytes, kFile);
  EXPECT_EQ(Payloads(scan), kPayloads);
  EXPECT_THAT(scan.damage, IsEmpty());
  EXPECT_EQ(scan.frames[1].offset, scan.frames[0].bytes());
}

TEST(Frame, KeepsItsBytesForOldFiles) {
  const std::string bytes = EncodeFrame(FrameKind::kNote, 258, 3, "ab");
  EXPECT_EQ(bytes.size(), 38U);
  EXPECT_EQ(bytes.substr(0, 4), "LSsp");
  EXPECT_EQ(
      bytes.substr(12, 26),
      std::string("\x01\x03\x00\x00\x02\x00\x00\x00\x02\x01\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00"
                  "ab",
                  26));
}

TEST(Frame, EveryTruncationKeepsAllWholeFramesBeforeIt) {
  const std::string bytes = FileOf(kPayloads);
  const FrameScan whole = ScanFrames(bytes, kFile);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const FrameScan scan = ScanFrames(std::string_view(bytes).substr(0, size), kFile);
    size_t expected = 0;
    int64_t good_bytes = 0;
    while (whole.frames[expected].offset + whole.frames[expected].bytes() <= static_cast<int64_t>(size)) {
      good_bytes += whole.frames[expected++].bytes();
    }
    ASSERT_EQ(scan.frames.size(), expected) << size;
    ASSERT_EQ(scan.damage.size(), static_cast<int64_t>(size) > good_bytes ? 1U : 0U) << size;
  }
}

TEST(Frame, EveryFlippedByteCostsItsOwnFrameOnly) {
  const std::string good = FileOf(kPayloads);
  const FrameScan whole = ScanFrames(good, kFile);
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x41);
    const FrameScan scan = ScanFrames(bytes, kFile);
    ASSERT_EQ(scan.frames.size(), kPayloads.size() - 1) << at;
    ASSERT_EQ(scan.damage.size(), 1U) << at;
    ASSERT_LE(scan.damage[0].offset, static_cast<int64_t>(at));
    ASSERT_GT(scan.damage[0].offset + scan.damage[0].bytes, static_cast<int64_t>(at));
    for (const Frame& frame : scan.frames) {
      const bool was_there = std::any_of(whole.frames.begin(), whole.frames.end(), [&](const Frame& other) {
        return other.offset == frame.offset && other.payload == frame.payload;
      });
      ASSERT_TRUE(was_there) << at;
    }
  }
}

TEST(Frame, FramesOfAnotherFileOrPlaceAreNone) {
  const std::string bytes = FileOf(kPayloads);
  EXPECT_THAT(ScanFrames(bytes, kFile + 1).frames, IsEmpty());
  EXPECT_THAT(ScanFrames("x" + bytes, kFile).frames, IsEmpty());
}

TEST(Frame, AFrameInsideADamagedRecordIsNone) {
  const std::string inner = FileOf({"inner"});
  std::string bytes = FileOf({"before", inner, "after"});
  bytes[60] = static_cast<char>(bytes[60] ^ 1);
  EXPECT_THAT(Payloads(ScanFrames(bytes, kFile)), ElementsAre("before", "after"));
}

TEST(Frame, BytesAppendedByAnotherProgramAreDamage) {
  const std::string bytes = FileOf({"a"});
  const std::string longer = bytes + "LSspLSsp";
  const FrameScan scan = ScanFrames(longer, kFile);
  EXPECT_THAT(Payloads(scan), ElementsAre("a"));
  EXPECT_THAT(scan.damage, ElementsAre(FrameDamage{static_cast<int64_t>(bytes.size()), 8}));
}

}  // namespace
}  // namespace lockstep
