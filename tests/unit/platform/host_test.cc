#include "platform/host.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(ParseAddress, TakesHostAndPort) {
  EXPECT_EQ(ParseAddress("node-1:7700")->host, "node-1");
  EXPECT_EQ(ParseAddress("node-1:7700")->port, 7700);
}

TEST(ParseAddress, TakesAnIpV6HostInBrackets) {
  EXPECT_EQ(ParseAddress("[::1]:0")->host, "::1");
  EXPECT_EQ(ParseAddress("[::1]:0")->ToString(), "[::1]:0");
}

TEST(ParseAddress, RefusesWhatIsNoAddress) {
  for (const char* text : {"", ":", "host", "host:", ":80", "host:65536", "host:-1", "host:8x", "::1:80", "[]:80"}) {
    EXPECT_FALSE(ParseAddress(text)) << text;
  }
}

TEST(IsLoopback, KnowsWhatOtherMachinesCannotReach) {
  for (const char* host : {"localhost", "127.0.0.1", "127.9.9.9", "::1"}) {
    EXPECT_TRUE(IsLoopback(host)) << host;
  }
  for (const char* host :
       {"0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "localhost.example.org", "127.0.0.1.example.org", ""}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

}  // namespace
}  // namespace lockstep
