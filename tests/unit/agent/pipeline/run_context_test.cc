#include "agent/pipeline/run_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "platform/temp_dir.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

class RunContextTest : public testing::Test {
 protected:
  // The context of a trace in the folder, in which the context file has this text.
  absl::StatusOr<ContextByKey> Read(const std::string& text) {
    std::ofstream(folder_.path() + "/lockstep-context.json") << text;
    return ContextOfFolder(folder_.path() + "/rank0.json");
  }

  const TempDir folder_ = TempDir::Create("", "lockstep-context-").value();
};

TEST_F(RunContextTest, HasTextNumbersAndTruthValues) {
  EXPECT_THAT(Read(R"({"model": "llama", "batch": 64, "eager": true, "rate": 0.5})").value(),
              ElementsAre(Pair("batch", "64"), Pair("eager", "true"), Pair("model", "llama"), Pair("rate", "0.5")));
}

TEST_F(RunContextTest, IsEmptyWithoutAFile) {
  EXPECT_THAT(ContextOfFolder(folder_.path() + "/rank0.json").value(), IsEmpty());
}

TEST_F(RunContextTest, RefusesWhatIsNoObjectOfValues) {
  for (const char* text : {"", "[]", "7", "{", R"({"a": [1]})", R"({"a": {"b": 1}})", R"({"a": null})", R"({"": "x"})",
                           "{\"a\": \"\xff\"}"}) {
    const absl::Status status = Read(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("lockstep-context.json")) << text;
  }
  EXPECT_FALSE(Read("{\"a\": \"" + std::string(2'000, 'x') + "\"}").ok());
  std::string many = "{";
  for (int i = 0; i < 1'001; ++i) many += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\": 1";
  EXPECT_FALSE(Read(many + "}").ok());
}

TEST_F(RunContextTest, IsNoTrace) {
  ASSERT_TRUE(Read("{}").ok());
  InputFiles inputs;
  inputs.files = {folder_.path() + "/lockstep-context.json", folder_.path() + "/rank0.json"};
  ASSERT_EQ(TakeOutContextFiles(inputs), absl::OkStatus());
  EXPECT_THAT(inputs.files, ElementsAre(folder_.path() + "/rank0.json"));
  (void)Read("nonsense");
  inputs.files = {folder_.path() + "/lockstep-context.json"};
  EXPECT_FALSE(TakeOutContextFiles(inputs).ok());
}

TEST(RunContextFlag, IsAKeyAndAValue) {
  ContextByKey context;
  EXPECT_TRUE(AddContext("model=llama", context).ok());
  EXPECT_TRUE(AddContext("note=a=b", context).ok());
  EXPECT_TRUE(AddContext("model=other", context).ok());
  EXPECT_THAT(context, ElementsAre(Pair("model", "other"), Pair("note", "a=b")));
  for (const char* text : {"", "=", "=x", "model"}) EXPECT_FALSE(AddContext(text, context).ok()) << text;
}

}  // namespace
}  // namespace lockstep
