#include "platform/http/metrics_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <memory>
#include <string>

namespace lockstep {
namespace {

using testing::HasSubstr;

class MetricsServerTest : public testing::Test {
 protected:
  void SetUp() override {
    registry_.AddCounter("things_total", "Things.").Add(3);
    server_ = MetricsServer::Start("127.0.0.1:0", registry_, [this] {
                return ready_.load() ? std::string() : std::string("the store has no room on its disk");
              }).value();
  }
  httplib::Result Get(const std::string& path) { return httplib::Client("http://" + server_->address()).Get(path); }

  MetricsRegistry registry_;
  std::atomic<bool> ready_{true};
  std::unique_ptr<MetricsServer> server_;
};

TEST_F(MetricsServerTest, TellsTheFiguresAsPrometheusReadsThem) {
  const auto response = Get("/metrics");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  EXPECT_THAT(response->get_header_value("Content-Type"), HasSubstr("version=0.0.4"));
  EXPECT_EQ(response->body, registry_.Text());
}

TEST_F(MetricsServerTest, HealthIsThatItAnswersAndReadinessThatItCanWork) {
  EXPECT_EQ(Get("/healthz")->status, 200);
  EXPECT_EQ(Get("/readyz")->status, 200);
  ready_ = false;
  EXPECT_EQ(Get("/healthz")->status, 200);
  const auto response = Get("/readyz");
  EXPECT_EQ(response->status, 503);
  EXPECT_THAT(response->body, HasSubstr("no room"));
}

TEST_F(MetricsServerTest, NothingElseIsThere) {
  EXPECT_EQ(Get("/")->status, 404);
  EXPECT_EQ(Get("/metrics/../etc/passwd")->status, 404);
  httplib::Client client("http://" + server_->address());
  EXPECT_EQ(client.Post("/metrics", "x", "text/plain")->status, 404);
}

TEST_F(MetricsServerTest, APortInUseIsAClearError) {
  const auto second = MetricsServer::Start(server_->address(), registry_, [] { return std::string(); });
  EXPECT_TRUE(absl::IsUnavailable(second.status())) << second.status();
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(server_->address()));
}

TEST_F(MetricsServerTest, StartingAndStoppingAtOnceIsInOrder) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(MetricsServer::Start("127.0.0.1:0", registry_, [] { return std::string(); }).ok());
  }
}

TEST(MetricsAddress, OtherMachinesMayReachItOnlyWhenThatIsAccepted) {
  EXPECT_EQ(MetricsAddressComplaint("127.0.0.1:9100", false), "");
  EXPECT_EQ(MetricsAddressComplaint("localhost:0", false), "");
  EXPECT_THAT(MetricsAddressComplaint("0.0.0.0:9100", false), HasSubstr("--insecure"));
  EXPECT_EQ(MetricsAddressComplaint("0.0.0.0:9100", true), "");
  EXPECT_THAT(MetricsAddressComplaint("nonsense", true), HasSubstr("HOST:PORT"));
}

}  // namespace
}  // namespace lockstep
