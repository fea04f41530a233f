// The decoder of columns against the reference that goes row by row, on good blocks and on damaged ones.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "analysis/model/batch.h"
#include "analysis/model/instance_row.h"
#include "analysis/model/received_batch.h"
#include "proto/batch_codec.h"
#include "proto/column_codec.h"
#include "proto/instance_codec.h"
#include "tests/support/codec/reference_instances.h"
#include "tests/support/draws.h"
#include "tests/unit/proto/batch_samples.h"

namespace lockstep {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using samples::MakeDecodeBatch;
using samples::MakeStream;
using samples::Random;

v1::InstanceBlock BlockOf(const std::vector<InstanceRow>& rows) {
  v1::InstanceBlock block;
  EncodeInstances(rows, &block);
  return block;
}

std::string Varint(uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  return bytes += static_cast<char>(number);
}

// Blocks of one and of several communicators, with and without positions, of every kind of column.
std::vector<v1::InstanceBlock> GoodBlocks() {
  std::vector<v1::InstanceBlock> blocks;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    for (const Batch& batch : MakeStream(seed, 3, 60)) blocks.push_back(BlockOf(batch.instances));
  }
  blocks.push_back(BlockOf(MakeDecodeBatch(7, 400).instances));
  Batch unsorted = MakeStream(8, 2, 80)[1];
  for (InstanceRow& row : unsorted.instances) row.start_ns = unsorted.instances.front().start_ns;
  for (InstanceRow& row : unsorted.instances) row.segment = {};
  blocks.push_back(BlockOf(unsorted.instances));
  EXPECT_GT(blocks.back().communicators(0).position_size(), 0);
  v1::InstanceColumns& plain = *blocks.emplace_back(BlockOf(MakeDecodeBatch(9, 40).instances)).mutable_communicators(0);
  plain.clear_packed();
  for (int64_t i = 0; i < 40; ++i) plain.add_start_ns(10'000'000 + i);
  for (int64_t i = 0; i < 40; ++i) plain.add_duration_ns(i % 3 + 1);
  return blocks;
}

// What the library makes of the bytes, read by the reference.
absl::StatusOr<std::vector<InstanceRow>> ReferenceRows(const std::string& bytes) {
  v1::InstanceBlock block;
  if (block.ParseFromString(bytes)) return reference::DecodeInstances(block);
  return absl::InvalidArgumentError(
      fmt::format("instances: {} decoded bytes are no lockstep.v1.InstanceBlock", bytes.size()));
}

std::vector<InstanceRow> RowsInPieces(const codec::InstanceGroups& all, size_t piece_rows) {
  std::vector<InstanceRow> rows;
  codec::RowPieces pieces(all, piece_rows);
  while (!pieces.done()) {
    const std::vector<InstanceRow> piece = pieces.Next();
    EXPECT_FALSE(piece.empty());
    if (piece.empty()) break;
    rows.insert(rows.end(), piece.begin(), piece.end());
  }
  return rows;
}

// Both refuse for the same reason, or both give the same rows, in pieces as well. Returns whether they took it.
bool ExpectAgreement(const std::string& bytes) {
  const auto expected = ReferenceRows(bytes);
  const auto decoded = DecodeInstances(bytes);
  EXPECT_EQ(expected.status(), decoded.status());
  if (!expected.ok() || !decoded.ok()) return false;
  EXPECT_EQ(*expected, *decoded);
  EXPECT_EQ(RowsInPieces(*codec::ReadGroups(bytes), 7), *decoded);
  return true;
}
bool ExpectAgreement(const v1::InstanceBlock& block) { return ExpectAgreement(block.SerializeAsString()); }

int64_t AnyNumber(Random& random) {
  static constexpr int64_t kEdges[] = {
      0,  1,         -1, 2,     -2,    INT64_MIN,        INT64_MAX, INT64_MIN + 1, 14,      15,
      18, INT32_MAX, 32, 1'000, kNoId, int64_t{1} << 61, 64,        -100,          1 << 17, (int64_t{1} << 62) + 1};
  return random.Chance(70) ? kEdges[random.Below(std::size(kEdges))] : static_cast<int64_t>(random.Bits());
}

void AddNumber(const FieldDescriptor& field, Random& random, Message* message) {
  const Reflection& reflection = *message->GetReflection();
  const int64_t number = AnyNumber(random);
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64) reflection.AddInt64(message, &field, number);
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
    reflection.AddUInt32(message, &field, static_cast<uint32_t>(number));
  }
}

void ChangeNumber(const FieldDescriptor& field, int at, Random& random, Message* message) {
  const Reflection& reflection = *message->GetReflection();
  const int64_t number = AnyNumber(random);
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64) reflection.SetRepeatedInt64(message, &field, at, number);
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
    reflection.SetRepeatedUInt32(message, &field, at, static_cast<uint32_t>(number));
  }
}

void DamageList(const FieldDescriptor& field, Random& random, Message* message) {
  const Reflection& reflection = *message->GetReflection();
  const int size = reflection.FieldSize(*message, &field);
  switch (random.Below(5)) {
    case 0:
      return AddNumber(field, random, message);
    case 1:
      return size > 0 ? reflection.RemoveLast(message, &field) : AddNumber(field, random, message);
    case 2:
      return reflection.ClearField(message, &field);
    default:
      if (size > 0) ChangeNumber(field, static_cast<int>(random.Below(size)), random, message);
  }
}

void DamageScalar(const FieldDescriptor& field, Random& random, Message* message) {
  const Reflection& reflection = *message->GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.SetUInt32(message, &field, static_cast<uint32_t>(random.Below(40)));
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.SetUInt64(message, &field, static_cast<uint64_t>(AnyNumber(random)));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.SetBool(message, &field, random.Chance(50));
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.SetString(message, &field, std::string(static_cast<size_t>(random.Below(30)), '\x5a'));
    default:
      return;
  }
}

// Changes one thing anywhere in the message.
void Damage(Random& random, Message* message) {
  const Reflection& reflection = *message->GetReflection();
  const auto& descriptor = *message->GetDescriptor();
  const FieldDescriptor& field = *descriptor.field(static_cast<int>(random.Below(descriptor.field_count())));
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    return field.is_repeated() ? DamageList(field, random, message) : DamageScalar(field, random, message);
  }
  if (!field.is_repeated()) {
    // Most of what there is, is inside; what is not there is seldom made.
    if (reflection.HasField(*message, &field) || random.Chance(10)) {
      Damage(random, reflection.MutableMessage(message, &field));
    }
    return;
  }
  const int size = reflection.FieldSize(*message, &field);
  if (size == 0 || random.Chance(5)) {
    Damage(random, reflection.AddMessage(message, &field));
  } else {
    Damage(random, reflection.MutableRepeatedMessage(message, &field, static_cast<int>(random.Below(size))));
  }
}

TEST(InstanceReader, GoodBlocksGiveTheRowsOfTheReference) {
  for (const v1::InstanceBlock& block : GoodBlocks()) EXPECT_TRUE(ExpectAgreement(block));
}

// In four parts by their seeds, so that processes can share them.
class DamagedColumns : public testing::TestWithParam<uint64_t> {};
INSTANTIATE_TEST_SUITE_P(InstanceReader, DamagedColumns, testing::Values(11, 12, 13, 14));

TEST_P(DamagedColumns, AreRefusedOrReadAsByTheReference) {
  Random random(GetParam());
  int taken = 0;
  int refused = 0;
  for (const v1::InstanceBlock& block : GoodBlocks()) {
    for (int round = 0; round < Draws(250) && !testing::Test::HasFailure(); ++round) {
      v1::InstanceBlock damaged = block;
      for (int64_t k = 1 + random.Below(3); k > 0; --k) Damage(random, &damaged);
      ++(ExpectAgreement(damaged) ? taken : refused);
    }
  }
  EXPECT_GT(taken, 250);
  EXPECT_GT(refused, 250);
}

TEST(InstanceReader, DamagedBytesAreRefusedOrReadAsByTheReference) {
  Random random(12);
  for (const v1::InstanceBlock& block : GoodBlocks()) {
    const std::string bytes = block.SerializeAsString();
    for (int round = 0; round < Draws(300) && !testing::Test::HasFailure(); ++round) {
      std::string damaged = bytes;
      for (int64_t k = 1 + random.Below(4); k > 0; --k) {
        damaged[static_cast<size_t>(random.Below(std::ssize(damaged)))] = static_cast<char>(random.Bits());
      }
      ExpectAgreement(damaged);
    }
  }
}

// A field of a serialised message: its number and wire type, and what follows.
std::string Field(int number, int type, std::string_view rest) {
  std::string field = Varint(static_cast<uint64_t>(number) << 3 | static_cast<uint64_t>(type));
  return field.append(rest);
}
std::string LengthField(int number, std::string_view bytes) {
  return Field(number, 2, Varint(bytes.size()).append(bytes));
}

TEST(InstanceReader, RowsDoNotHangOnTheFormOfTheirMessage) {
  v1::InstanceColumns columns = BlockOf(MakeDecodeBatch(9, 40).instances).communicators(0);
  columns.clear_seq();
  for (int i = 0; i < 40; ++i) columns.add_seq(1);
  const auto block = [](std::string_view group) {
    return LengthField(v1::InstanceBlock::kCommunicatorsFieldNumber, group);
  };
  const std::string bytes = columns.SerializeAsString();
  const auto rows = DecodeInstances(block(bytes));
  ASSERT_TRUE(rows.ok()) << rows.status();

  v1::InstanceColumns without = columns;
  without.clear_seq();
  std::string unpacked = without.SerializeAsString();
  for (int i = 0; i < 40; ++i) unpacked += Field(v1::InstanceColumns::kSeqFieldNumber, 0, Varint(2));
  v1::InstanceColumns half;
  for (int i = 0; i < 20; ++i) half.add_seq(1);
  const std::string halves = without.SerializeAsString() + half.SerializeAsString() + half.SerializeAsString();
  v1::InstanceColumns first = columns;
  first.mutable_segment()->clear_slack_gap_ns();
  v1::InstanceColumns second;
  *second.mutable_segment()->mutable_slack_gap_ns() = columns.segment().slack_gap_ns();
  const std::string merged = first.SerializeAsString() + second.SerializeAsString();
  for (const std::string& form :
       {block(unpacked), block(halves), block(merged), block(bytes + LengthField(1'000, "new")),
        block(bytes + Field(31, 0, Varint(~uint64_t{0}))), block(bytes) + Field(15, 5, "four"),
        block(Field(v1::InstanceColumns::kRowsFieldNumber, 0, Varint(7)) + bytes)}) {
    EXPECT_NE(form, block(bytes));
    EXPECT_TRUE(ExpectAgreement(form));
    const auto same = DecodeInstances(form);
    ASSERT_TRUE(same.ok()) << same.status();
    EXPECT_EQ(*same, *rows);
  }
}

TEST(InstanceReader, APieceHasAsManyRowsAsItMay) {
  const Batch batch = MakeStream(3, 5, 200).back();
  const auto groups = codec::ReadGroups(BlockOf(batch.instances).SerializeAsString());
  ASSERT_TRUE(groups.ok()) << groups.status();
  ASSERT_GT(groups->groups.size(), 1);
  codec::RowPieces pieces(*groups, 64);
  const std::span<const InstanceRow> rows = batch.instances;
  for (size_t first = 0; first < rows.size(); first += 64) {
    ASSERT_FALSE(pieces.done());
    EXPECT_THAT(pieces.Next(),
                testing::ElementsAreArray(rows.subspan(first, std::min<size_t>(64, rows.size() - first))));
  }
  EXPECT_TRUE(pieces.done());
  EXPECT_THAT(pieces.Next(), testing::IsEmpty());
}

TEST(InstanceReader, RowsWhoseColumnsAreNotInTheOrderOfTheirPlacesComeAtOnce) {
  v1::InstanceBlock block;
  for (uint32_t communicator = 0; communicator < 2; ++communicator) {
    v1::InstanceColumns& columns = *block.add_communicators();
    columns.set_communicator(communicator);
    columns.set_rows(3);
    for (const int64_t gap : {30, -10, -10}) columns.add_start_ns(gap);
  }
  const auto groups = codec::ReadGroups(block.SerializeAsString());
  ASSERT_TRUE(groups.ok()) << groups.status();
  codec::RowPieces pieces(*groups, 2);
  EXPECT_EQ(pieces.Next(), codec::RowsOf(*groups));
  EXPECT_TRUE(pieces.done());
}

TEST(InstanceReader, BytesThatAreNoMessageAreRefusedAsSuch) {
  const std::string bytes = BlockOf(MakeDecodeBatch(9, 40).instances).SerializeAsString();
  for (size_t size = 1; size < bytes.size(); ++size) ExpectAgreement(bytes.substr(0, size));
  for (const std::string& tail : {std::string(1, '\0'), std::string("\x0a"), std::string("\x0c"), std::string("\x0f"),
                                  Field(15, 0, std::string(11, '\xff')), Field(15, 3, "")}) {
    EXPECT_FALSE(ExpectAgreement(bytes + tail));
  }
}

TEST(InstanceReader, WhatAStoreIsToldIsWhatTheRowsSay) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    for (const Batch& batch : MakeStream(seed, 3, 200)) {
      const std::string body = EncodeBatch(batch);
      const auto received = DecodeForStore(body);
      ASSERT_TRUE(received.ok()) << received.status();
      EXPECT_EQ(received->instances, FactsOf(batch.instances));
      EXPECT_EQ(received->ops, CollectiveOpsOf(batch.instances));
      const auto rows = UnpackInstances(received->packed);
      ASSERT_TRUE(rows.ok()) << rows.status();
      EXPECT_EQ(*rows, batch.instances);
      Batch rest = batch;
      rest.instances.clear();
      EXPECT_EQ(received->batch, rest);
    }
  }
}

TEST(InstanceReader, WhatTheDecoderRefusesNoStoreIsGiven) {
  Batch batch = MakeDecodeBatch(3, 50);
  batch.instances[30].duration_ns = -1;
  const auto received = DecodeForStore(EncodeBatch(batch));
  EXPECT_EQ(received.status(), DecodeBatch(EncodeBatch(batch)).status());
  EXPECT_TRUE(absl::IsInvalidArgument(received.status())) << received.status();
}

TEST(InstanceReader, OperationsAreTotalledByAllThatTellsThemApart) {
  Batch batch = MakeDecodeBatch(4, 6);
  for (InstanceRow& row : batch.instances) row.duration_ns = 10;
  batch.instances[1].bytes = 5;
  batch.instances[2].op = CollectiveOp::kBroadcast;
  batch.instances[3].dtype = DataType::kFloat32;
  batch.instances[4].library = CollectiveLibrary::kNone;
  for (InstanceRow& row : batch.instances) row.segment = {};
  const auto received = DecodeForStore(EncodeBatch(batch));
  ASSERT_TRUE(received.ok()) << received.status();
  EXPECT_EQ(received->ops.size(), 5);
  EXPECT_EQ(received->ops, CollectiveOpsOf(batch.instances));
}

}  // namespace
}  // namespace lockstep
