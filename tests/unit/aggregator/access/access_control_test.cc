#include "aggregator/access/access_control.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "platform/digest.h"
#include "platform/temp_dir.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kAgent = "agent-secret-0001";
const std::string kReader = "reader-secret-001";

class AccessControlTest : public testing::Test {
 protected:
  // As an editor or a deployment does it: a new file in place of the old one.
  void Write(const std::string& text, mode_t mode = 0600) const {
    const std::string next = path_ + ".next";
    std::ofstream(next) << text;
    ASSERT_EQ(::chmod(next.c_str(), mode), 0);
    ASSERT_EQ(std::rename(next.c_str(), path_.c_str()), 0);
  }
  [[nodiscard]] std::unique_ptr<AccessControl> Open() const {
    auto control = AccessControl::Open(path_);
    EXPECT_TRUE(control.ok()) << control.status();
    return *std::move(control);
  }

  const TempDir dir_ = TempDir::Create("", "access-test-").value();
  const std::string path_ = dir_.path() + "/tokens";
};

TEST_F(AccessControlTest, OnlyAKnownTokenOfTheRightRoleIsLetIn) {
  Write(fmt::format("agent {} train-\nreader {}\n", kAgent, kReader));
  const auto control = Open();
  EXPECT_TRUE(control->Allow("Bearer " + kAgent, Action::kIngest, "train-1").ok());
  EXPECT_TRUE(control->Allow("Bearer " + kReader, Action::kList, std::nullopt).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(control->Allow("Bearer " + kAgent, Action::kIngest, "other")));
  EXPECT_TRUE(absl::IsPermissionDenied(control->Allow("Bearer " + kReader, Action::kIngest, "train-1")));
  for (const std::string& header : {std::string(), std::string("Bearer "), kAgent, "bearer " + kAgent,
                                    "Basic " + kAgent, "Bearer  " + kAgent, "Bearer " + kAgent + "x"}) {
    EXPECT_TRUE(absl::IsUnauthenticated(control->Allow(header, Action::kHealth, std::nullopt))) << header;
  }
}

TEST_F(AccessControlTest, NoAnswerRepeatsTheTokenOfTheCall) {
  Write(fmt::format("agent {} train-\n", kAgent));
  const auto control = Open();
  for (const std::string& token : {kAgent, std::string("guess-of-a-stranger")}) {
    const absl::Status refused = control->Allow("Bearer " + token, Action::kPrune, "r");
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(std::string(refused.message()), Not(HasSubstr(token)));
  }
}

TEST_F(AccessControlTest, AFileThatOthersMayReadIsRefusedWithTheFix) {
  for (const mode_t mode : {0604, 0644, 0602, 0666}) {
    Write(fmt::format("agent {}\n", kAgent), mode);
    const auto control = AccessControl::Open(path_);
    ASSERT_TRUE(absl::IsPermissionDenied(control.status())) << mode;
    EXPECT_THAT(std::string(control.status().message()), HasSubstr("chmod 600 " + path_));
  }
}

TEST_F(AccessControlTest, AGroupMayReadTheFile) {
  Write(fmt::format("agent {}\n", kAgent), 0640);
  EXPECT_TRUE(AccessControl::Open(path_).ok());
}

TEST_F(AccessControlTest, AWrongFileIsToldByItsPath) {
  EXPECT_TRUE(absl::IsNotFound(AccessControl::Open(path_).status()));
  Write("nonsense\n");
  EXPECT_THAT(std::string(AccessControl::Open(path_).status().message()), HasSubstr(path_ + " line 1"));
  EXPECT_TRUE(absl::IsInvalidArgument(AccessControl::Open(dir_.path()).status()));
}

TEST_F(AccessControlTest, AReplacedFileCountsFromTheNextCall) {
  Write(fmt::format("agent {}\n", kAgent));
  const auto control = Open();
  ASSERT_TRUE(control->Allow("Bearer " + kAgent, Action::kIngest, "r").ok());
  Write(fmt::format("reader {}\n", kReader));
  EXPECT_TRUE(absl::IsUnauthenticated(control->Allow("Bearer " + kAgent, Action::kIngest, "r")));
  EXPECT_TRUE(control->Allow("Bearer " + kReader, Action::kRead, "r").ok());
}

TEST_F(AccessControlTest, AFileThatBecameUnusableLeavesTheFormerTokensValid) {
  Write(fmt::format("agent {}\n", kAgent));
  const auto control = Open();
  const auto still = [&] { return control->Allow("Bearer " + kAgent, Action::kIngest, "r").ok(); };
  Write("root everything-for-all\n");
  EXPECT_TRUE(still());
  Write(fmt::format("reader {}\n", kReader), 0644);
  EXPECT_TRUE(still());
  std::remove(path_.c_str());
  EXPECT_TRUE(still());
  Write(fmt::format("reader {}\n", kReader));
  EXPECT_FALSE(still());
}

TEST_F(AccessControlTest, WhoShowedATokenBeforeIsJudgedAsWithIt) {
  Write(fmt::format("reader {} train-\n", kReader));
  const auto control = Open();
  const Digest token = Sha256(kReader);
  EXPECT_TRUE(control->Allow(token, Action::kRead, "train-1").ok());
  EXPECT_TRUE(absl::IsPermissionDenied(control->Allow(token, Action::kRead, "other")));
  EXPECT_TRUE(absl::IsUnauthenticated(control->Allow(Sha256("another-token-001"), Action::kRead, "train-1")));
  Write(fmt::format("agent {}\n", kAgent));
  EXPECT_TRUE(absl::IsUnauthenticated(control->Allow(token, Action::kRead, "train-1")));
}

}  // namespace
}  // namespace lockstep
