#include "analysis/export/perfetto/proto_writer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/unit/analysis/export/perfetto/naive_trace.h"

namespace lockstep::perfetto {
namespace {

TEST(ProtoWriter, WritesNumbersThatADecoderReadsBack) {
  std::mt19937_64 random(20261127);
  for (int round = 0; round < 2000; ++round) {
    const uint64_t value = random() >> (random() % 64);
    const auto number = static_cast<uint32_t>(1 + random() % 200);
    std::string bytes;
    ProtoWriter(bytes).Uint(number, value);
    ProtoWriter(bytes).Fixed64(number + 1, value);
    const NaiveMessage message = Decode(bytes);
    ASSERT_EQ(message.fields.size(), 2U);
    EXPECT_EQ(message.Number(number), value);
    EXPECT_EQ(message.Number(number + 1), value);
  }
}

TEST(ProtoWriter, WritesANegativeNumberInTenBytes) {
  std::string bytes;
  ProtoWriter(bytes).Int(1, -1);
  EXPECT_EQ(bytes.size(), 11U);
  EXPECT_EQ(static_cast<int64_t>(Decode(bytes).Number(1)), -1);
}

TEST(ProtoWriter, WritesMessagesInsideMessagesOfAnyLength) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{127}, size_t{128}, size_t{16'383}, size_t{16'384}}) {
    std::string bytes;
    ProtoWriter writer(bytes);
    writer.Uint(7, 5);
    const size_t outer = writer.Open(1);
    const size_t inner = writer.Open(2);
    writer.Text(3, std::string(size, 'x'));
    writer.Close(inner);
    writer.Uint(4, 9);
    writer.Close(outer);
    writer.Uint(8, 6);
    const NaiveMessage message = Decode(bytes);
    ASSERT_EQ(message.fields.size(), 3U) << size;
    EXPECT_EQ(message.Number(7), 5U);
    EXPECT_EQ(message.Number(8), 6U);
    EXPECT_EQ(message.Message(1).Number(4), 9U);
    EXPECT_EQ(message.Message(1).Message(2).Text(3).size(), size);
  }
}

}  // namespace
}  // namespace lockstep::perfetto
