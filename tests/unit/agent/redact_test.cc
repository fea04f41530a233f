#include "agent/redact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "analysis/model/batch.h"
#include "analysis/model/kernel_name.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

const NameRedactor kRedactor("0123456789abcdef");
const std::string kKernel = "void at::native::secret_gemm<float, 4>(float*)";

NameDef Def(uint32_t id, std::string text) { return {.id = id, .hash = HashOf(text), .text = std::move(text)}; }

std::vector<std::string> TextsOf(const Batch& batch) {
  std::vector<std::string> texts;
  for (const NameDef& name : batch.names) texts.push_back(name.text);
  return texts;
}

// printf %s secret_gemm | openssl dgst -sha256 -hmac 0123456789abcdef, and of the whole name.
TEST(NameRedactor, IsHmacOfTheBaseNameAndOfTheWholeName) {
  EXPECT_EQ(kRedactor.Redacted("secret_gemm"), "n_e2e86abb448e8e96<e2e86abb448e8e96>");
  EXPECT_THAT(kRedactor.Redacted(kKernel), MatchesRegex("n_e2e86abb448e8e96<[0-9a-f]{16}>"));
}

TEST(NameRedactor, DependsOnTheKeyAndOnEachByte) {
  EXPECT_EQ(kRedactor.Redacted(kKernel), NameRedactor("0123456789abcdef").Redacted(kKernel));
  EXPECT_NE(kRedactor.Redacted(kKernel), NameRedactor("0123456789abcdeF").Redacted(kKernel));
  EXPECT_NE(kRedactor.Redacted(kKernel), kRedactor.Redacted(kKernel + " "));
  EXPECT_NE(kRedactor.KeyMark(), NameRedactor("0123456789abcdeF").KeyMark());
}

TEST(NameRedactor, KeepsWhatGroupingByBaseNameNeeds) {
  const std::string one = kRedactor.Redacted("a::gemm<int>(int*)");
  const std::string other = kRedactor.Redacted("b::gemm<float>(float*)");
  EXPECT_NE(one, other);
  EXPECT_EQ(SplitKernelName(one).base, SplitKernelName(other).base);
  EXPECT_EQ(SplitKernelName(one).base, one.substr(0, one.find('<')));
}

TEST(NameRedactor, KeepsTheNumberOfAStepAndNothingElseOfIt) {
  const std::string twelve = kRedactor.RedactedStep("secret step 12");
  EXPECT_THAT(twelve, MatchesRegex("n_[0-9a-f]{16}#12"));
  EXPECT_EQ(kRedactor.RedactedStep("secret step 13"), twelve.substr(0, twelve.size() - 1) + "3");
  EXPECT_THAT(kRedactor.RedactedStep("secret pass (3)"), MatchesRegex("n_[0-9a-f]{16}#"));
}

TEST(NameRedactor, TakesOutEveryNameButThoseOfCalls) {
  Batch batch;
  batch.names = {Def(0, "kernel"), Def(1, "step 7"), Def(2, "cudaLaunchKernel"), Def(3, "range"), Def(4, "domain"),
                 Def(5, "both"),   Def(6, "unused"), Def(7, "mangled"),          Def(8, "around")};
  batch.kernels.resize(1);
  batch.kernels[0].name = 0;
  batch.kernels[0].mangled = 7;
  batch.kernels[0].range = 8;
  batch.steps.resize(1);
  batch.steps[0].name = 1;
  batch.apis.resize(2);
  batch.apis[0].name = 2;
  batch.apis[1].name = 5;
  batch.ranges.resize(2);
  batch.ranges[0].name = 3;
  batch.ranges[0].domain = 4;
  batch.ranges[1].name = 5;
  const auto redacted = [](const std::string& text) { return kRedactor.Redacted(text); };
  const Batch before = batch;
  kRedactor.Redact(batch);
  EXPECT_THAT(TextsOf(batch), ElementsAre(redacted("kernel"), kRedactor.RedactedStep("step 7"), "cudaLaunchKernel",
                                          redacted("range"), redacted("domain"), redacted("both"), redacted("unused"),
                                          redacted("mangled"), redacted("around")));
  for (const NameDef& name : batch.names) EXPECT_EQ(name.hash, HashOf(name.text));
  EXPECT_EQ(batch.kernels, before.kernels);
  EXPECT_EQ(batch.ranges, before.ranges);
}

TEST(NameRedactor, LeavesOurOwnWordForTheRest) {
  EXPECT_EQ(kRedactor.Redacted("(rest)"), "(rest)");
  EXPECT_EQ(kRedactor.Redacted(""), "");
}

TEST(NameRedactor, WithholdsTheTextOfDiagnosticsButNotThatDataWasLost) {
  SourceContext context;
  context.diagnostics = {"nsys warning: 12 events of secret_gemm dropped", "secret_a", "secret_b"};
  NameRedactor::Redact(context);
  ASSERT_EQ(context.diagnostics.size(), 2U);
  EXPECT_THAT(context.diagnostics[0], HasSubstr("dropped"));
  for (const std::string& line : context.diagnostics) EXPECT_THAT(line, testing::Not(HasSubstr("secret")));
}

class RedactKey : public testing::Test {
 protected:
  [[nodiscard]] absl::Status Read(const std::string& text, mode_t mode = 0600) const {
    const std::string path = dir_.path() + "/key";
    std::ofstream(path, std::ios::binary) << text;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return NameRedactor::FromFile(path).status();
  }
  const TempDir dir_ = TempDir::Create("", "redact-test-").value();
};

TEST_F(RedactKey, IsOneLongEnoughWordThatNotEverybodyMayRead) {
  EXPECT_TRUE(Read("0123456789abcdef\n").ok());
  EXPECT_THAT(std::string(Read("short\n").message()), HasSubstr("at least 16"));
  EXPECT_THAT(std::string(Read("0123456789 abcdef\n").message()), HasSubstr("without spaces"));
  EXPECT_THAT(std::string(Read("0123456789abcdef\n", 0644).message()), HasSubstr("chmod 600"));
  EXPECT_FALSE(NameRedactor::FromFile(dir_.path() + "/none").ok());
}

}  // namespace
}  // namespace lockstep
