#include "aggregator/access/access_policy.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep {
namespace {

struct Row {
  Action action;
  const char* roles;  // those that may
};

// The whole matrix, written out by hand.
constexpr Row kMatrix[] = {
    {Action::kIngest, "agent admin"}, {Action::kReplace, "agent admin"},
    {Action::kList, "reader admin"},  {Action::kRead, "reader admin"},
    {Action::kFinish, "admin"},       {Action::kDrop, "admin"},
    {Action::kPrune, "admin"},        {Action::kHealth, "agent reader admin"},
};
constexpr Role kRoles[] = {Role::kAgent, Role::kReader, Role::kAdmin};

bool InMatrix(Role role, const Row& row) { return std::string(row.roles).find(Name(role)) != std::string::npos; }

TEST(AccessPolicy, EveryRoleMayWhatTheMatrixSaysOnRunsOfItsPrefix) {
  for (const Row& row : kMatrix) {
    for (const Role role : kRoles) {
      for (const char* prefix : {"", "train-"}) {
        EXPECT_EQ(Decide({role, prefix}, row.action, "train-7").ok(), InMatrix(role, row))
            << Name(role) << " " << Name(row.action) << " '" << prefix << "'";
        EXPECT_EQ(Decide({role, prefix}, row.action, std::nullopt).ok(), InMatrix(role, row));
      }
    }
  }
}

TEST(AccessPolicy, NoRoleMayAnythingOnRunsOutsideItsPrefix) {
  for (const Row& row : kMatrix) {
    for (const Role role : kRoles) {
      for (const char* run : {"", "train", "Train-7", "other", "xtrain-7"}) {
        EXPECT_TRUE(absl::IsPermissionDenied(Decide({role, "train-"}, row.action, run)))
            << Name(role) << " " << Name(row.action) << " on '" << run << "'";
      }
    }
  }
}

TEST(AccessPolicy, ARefusalTellsTheRoleAndTheAction) {
  const std::string text(Decide({Role::kReader, ""}, Action::kIngest, "r").message());
  EXPECT_NE(text.find("reader"), std::string::npos);
  EXPECT_NE(text.find("send batches"), std::string::npos);
}

TEST(AccessPolicy, RolesAreKnownByTheirNamesOnly) {
  for (const Role role : kRoles) {
    EXPECT_EQ(RoleFromName(Name(role)), role);
  }
  for (const char* other : {"", "Admin", "root", "admins", "agent "}) {
    EXPECT_EQ(RoleFromName(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace lockstep
