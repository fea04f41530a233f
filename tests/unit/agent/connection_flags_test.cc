#include "agent/connection_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "platform/temp_dir.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::Optional;

std::optional<std::string> Complaint(const std::string& address, ConnectionFlags flags) {
  SettleConnectionFlags(flags);
  return ConnectionComplaint(address, flags);
}

TEST(ConnectionFlags, PlaintextReachesOtherMachinesOnlyWhenToldSo) {
  EXPECT_EQ(Complaint("127.0.0.1:7700", {}), std::nullopt);
  EXPECT_EQ(Complaint("[::1]:7700", {}), std::nullopt);
  EXPECT_THAT(Complaint("10.0.0.1:7700", {}), Optional(HasSubstr("--tls")));
  EXPECT_EQ(Complaint("10.0.0.1:7700", {.insecure = true}), std::nullopt);
  EXPECT_EQ(Complaint("10.0.0.1:7700", {.security = {.tls = true}}), std::nullopt);
}

TEST(ConnectionFlags, AnyTlsFlagTurnsTlsOn) {
  for (const ChannelSecurity& security :
       {ChannelSecurity{.ca = "x"}, ChannelSecurity{.certificate = "x"}, ChannelSecurity{.server_name = "x"}}) {
    ConnectionFlags flags{.security = security};
    SettleConnectionFlags(flags);
    EXPECT_TRUE(flags.security.tls);
  }
}

TEST(ConnectionFlags, ACertificateNeedsItsKey) {
  EXPECT_THAT(Complaint("a:1", {.security = {.certificate = "x"}}), Optional(HasSubstr("--tls-key")));
  EXPECT_THAT(Complaint("a:1", {.security = {.key = "x"}}), Optional(HasSubstr("--tls-cert")));
}

TEST(ConnectionFlags, FilesThatCannotBeUsedAreToldByPathAndNotByContent) {
  const TempDir dir = TempDir::Create("", "flags-test-").value();
  const std::string path = dir.path() + "/file";
  EXPECT_THAT(Complaint("a:1", {.security = {.ca = path}}), Optional(HasSubstr(path)));
  std::ofstream(path) << "hunter2 hunter2";
  ::chmod(path.c_str(), 0600);
  EXPECT_THAT(Complaint("a:1", {.security = {.ca = path}}), Optional(HasSubstr("no certificate")));
  const auto token = Complaint("127.0.0.1:1", {.token_file = path});
  EXPECT_THAT(token, Optional(HasSubstr(path)));
  EXPECT_THAT(token, Optional(Not(HasSubstr("hunter2"))));
}

TEST(ConnectionFlags, AnAddressNeedsAPort) {
  for (const char* address : {"", "host", "host:", ":7700", "host:0", "host:70000"}) {
    EXPECT_THAT(Complaint(address, {}), Optional(HasSubstr("HOST:PORT"))) << address;
  }
}

}  // namespace
}  // namespace lockstep
