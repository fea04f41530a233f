#include "proto/parsed_size.h"
#include "analysis/model/received_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include <string>
#include <string_view>

#include "lockstep/v1/batch.pb.h"
#include "proto/batch_codec.h"
#include "proto/column_codec.h"

namespace lockstep::codec {
namespace {

using testing::HasSubstr;

std::string Repeated(std::string_view bytes, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += bytes;
  return out;
}

// Bytes of a message, and what it took.
template <typename M>
void ExpectToldWithinHalf(const std::string& bytes) {
  M message;
  ASSERT_TRUE(message.ParseFromString(bytes));
  const size_t taken = message.SpaceUsedLong();
  EXPECT_FALSE(ParsesWithin(bytes, *M::descriptor(), taken / 2));
  EXPECT_TRUE(ParsesWithin(bytes, *M::descriptor(), 2 * taken));
}

TEST(ParsedSize, ManyEmptyPartsAreToldByWhatTheyTake) {
  ExpectToldWithinHalf<v1::InstanceBlock>(Repeated(std::string("\x0a\x00", 2), 20'000));
  ExpectToldWithinHalf<v1::TableBlock>(Repeated(std::string("\x0a\x00\x12\x00", 4), 20'000));
}

TEST(ParsedSize, PartsOfPartsCount) {
  const std::string packed = Repeated(std::string("\xba\x01\x00", 3), 20'000);  // InstanceColumns.packed, all empty
  v1::InstanceBlock block;
  ASSERT_TRUE(block.add_communicators()->ParseFromString(packed));
  ExpectToldWithinHalf<v1::InstanceBlock>(block.SerializeAsString());
}

TEST(ParsedSize, WhatNobodyKnowsCounts) {
  EXPECT_FALSE(
      ParsesWithin(Repeated(std::string("\xf8\x7f\x00", 3), 100'000), *v1::InstanceBlock::descriptor(), 1 << 20));
}

TEST(ParsedSize, CutBytesAreForTheParserToRefuse) {
  const std::string bytes = Repeated(std::string("\x0a\x00", 2), 20'000) + "\x0a\x7f";
  EXPECT_TRUE(ParsesWithin(bytes, *v1::InstanceBlock::descriptor(), 64 << 20));
  EXPECT_FALSE(v1::InstanceBlock().ParseFromString(bytes));
}

TEST(ParsedSize, ABatchOfManyEmptyPartsIsRefusedBeforeTheyAreMade) {
  v1::Batch bomb;
  bomb.set_version(kBatchVersion);
  const std::string bytes = Repeated(std::string("\x0a\x00", 2), 16 << 20);
  std::string frame(ZSTD_compressBound(bytes.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), 1));
  bomb.mutable_instances()->set_decoded_bytes(static_cast<uint32_t>(bytes.size()));
  bomb.mutable_instances()->set_zstd(frame);
  const auto refused = DecodeForStore(bomb.SerializeAsString());
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("too many parts"));
}

TEST(ParsedSize, ABatchOfMoreCommunicatorsThanMayBeIsRefused) {
  v1::InstanceBlock block;
  for (uint32_t c = 0; c <= kMaxGroups; ++c) {
    v1::InstanceColumns& columns = *block.add_communicators();
    columns.set_communicator(c);
    columns.set_rows(1);
    columns.add_start_ns(0);
  }
  v1::Batch batch;
  batch.set_version(kBatchVersion);
  Pack(block, batch.mutable_instances());
  const auto refused = DecodeForStore(batch.SerializeAsString());
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("communicators"));
}

}  // namespace
}  // namespace lockstep::codec
