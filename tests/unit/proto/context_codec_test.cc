#include "proto/context_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/proto/batch_samples.h"
#include "tests/unit/proto/refused.h"

namespace lockstep {
namespace {

using testing::HasSubstr;

v1::SourceContext MessageOf(const SourceContext& context) {
  v1::SourceContext message;
  ToProto(context, &message);
  return message;
}

TEST(ContextCodec, EveryFieldComesBackEqual) {
  const SourceContext context = samples::MakeContext(3);
  const absl::StatusOr<SourceContext> decoded = FromProto(MessageOf(context));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->source_id, context.source_id);
  EXPECT_EQ(decoded->claims, context.claims);
  EXPECT_EQ(decoded->world_size, context.world_size);
  EXPECT_EQ(decoded->host_source, context.host_source);
  EXPECT_EQ(decoded->gpu, context.gpu);
  EXPECT_EQ(decoded->versions, context.versions);
  EXPECT_EQ(decoded->options, context.options);
  EXPECT_EQ(decoded->groups, context.groups);
  EXPECT_EQ(decoded->diagnostics, context.diagnostics);
  // The rest by its wire form, in which every field has a distinct value.
  EXPECT_EQ(MessageOf(*decoded).SerializeAsString(), MessageOf(context).SerializeAsString());
}

TEST(ContextCodec, UnknownNumbersComeBackUnknown) {
  SourceContext context;
  context.source_id = {1, 2};
  const absl::StatusOr<SourceContext> decoded = FromProto(MessageOf(context));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->pid, -1);
  EXPECT_EQ(decoded->device, -1);
  EXPECT_EQ(decoded->gpu, DeviceInfo{});
  EXPECT_EQ(decoded->world_size, std::nullopt);
  EXPECT_EQ(decoded->host_source, HostSource::kUnknown);
}

TEST(ContextCodec, APathOfAnyBytesTravelsRepaired) {
  SourceContext context = samples::MakeContext(1);
  context.path = "dir/\xc3(";
  const absl::StatusOr<SourceContext> decoded = FromProto(MessageOf(context));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->path, "dir/\xef\xbf\xbd(");
}

TEST(ContextCodec, AMissingSourceIdIsRefused) {
  v1::SourceContext message = MessageOf(samples::MakeContext(1));
  message.clear_source_id();
  ExpectRefused(FromProto(message), "source_id");
}

TEST(ContextCodec, ARankSourceOfTheFutureIsRefused) {
  v1::SourceContext message = MessageOf(samples::MakeContext(1));
  message.mutable_claims(0)->set_source(7);
  ExpectRefused(FromProto(message), "claims.source");
}

TEST(ContextCodec, AnAbsurdTimeIsRefused) {
  v1::SourceContext message = MessageOf(samples::MakeContext(1));
  message.set_first_start_ns(INT64_MIN);
  ExpectRefused(FromProto(message), "first_start_ns");
}

TEST(ContextCodec, MembersThatDescendAreRefused) {
  v1::SourceContext message = MessageOf(samples::MakeContext(1));
  message.mutable_groups(0)->set_members(1, -1);
  message.mutable_groups(0)->set_members(0, 5);
  ExpectRefused(FromProto(message), "ascending");
}

TEST(ContextCodec, DropCountersComeBackEqual) {
  DropCounters drops;
  for (size_t i = 0; i < kDropReasonCount; i += 2) drops.count[i] = static_cast<int64_t>(i) + 1;
  google::protobuf::RepeatedPtrField<v1::DropCount> message;
  ToProto(drops, &message);
  const absl::StatusOr<DropCounters> decoded = FromProto(message);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, drops);
}

TEST(ContextCodec, AnUnknownDropReasonIsRefused) {
  google::protobuf::RepeatedPtrField<v1::DropCount> message;
  message.Add()->set_reason("lost_in_space");
  EXPECT_THAT(std::string(FromProto(message).status().message()), HasSubstr("lost_in_space"));
}

TEST(ContextCodec, FileNotesComeBackEqual) {
  FileNote note = {"a/b.json", "kineto", "partial", "gzip ends early", 1'234, {}};
  note.drops.Add(DropReason::kGzipTruncated);
  v1::FileNote message;
  ToProto(note, &message);
  const absl::StatusOr<FileNote> decoded = FromProto(message);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, note);
}

TEST(ContextCodec, AFileStatusThatDoesNotExistIsRefused) {
  v1::FileNote message;
  message.set_status("lost");
  EXPECT_THAT(std::string(FromProto(message).status().message()), HasSubstr("'lost'"));
}

}  // namespace
}  // namespace lockstep
