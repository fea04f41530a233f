// Who gets in and who does not: real connections on loopback, with certificates made by the openssl tool.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agent/uplink/grpc/grpc_transport.h"
#include "agent/uplink/uplink_client.h"
#include "aggregator/grpc/server.h"
#include "analysis/report/json.h"
#include "cli/query_client.h"
#include "platform/clock.h"
#include "platform/run_program.h"
#include "platform/temp_dir.h"
#include "proto/batch_codec.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int64_t kPatienceNs = 60'000'000'000;

// A new file in place of the old one, as deployments do it.
void Put(const std::string& path, const std::string& text) {
  const std::string next = path + ".next";
  std::ofstream(next) << text;
  ASSERT_EQ(::chmod(next.c_str(), 0600), 0);
  ASSERT_EQ(std::rename(next.c_str(), path.c_str()), 0);
}

template <typename Condition>
bool Eventually(Condition condition) {
  const int64_t end_ns = SystemClock().MonotonicNs() + kPatienceNs;
  while (!condition()) {
    if (SystemClock().MonotonicNs() > end_ns) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

// Two authorities, and what they signed. Made once for all tests.
class Pki {
 public:
  static const Pki& Get() {
    static const Pki pki;
    return pki;
  }
  [[nodiscard]] std::string Path(const std::string& name) const { return dir_.path() + "/" + name; }

 private:
  Pki() {
    std::ofstream(Path("ext")) << "subjectAltName=DNS:agg.test,IP:127.0.0.1\n";
    for (const char* authority : {"ca", "other"}) {
      Shell(fmt::format("openssl req -x509 {} -keyout {}.key -out {}.crt -days 2 -subj /CN={}", kKey, authority,
                        authority, authority));
    }
    Sign("ca", "server", 2);
    Sign("ca", "client", 2);
    Sign("ca", "expired", -1);
    Sign("other", "stranger", 2);
  }

  void Sign(const std::string& authority, const std::string& name, int days) const {
    Shell(fmt::format("openssl req {} -keyout {}.key -out {}.csr -subj /CN={}", kKey, name, name, name));
    Shell(
        fmt::format("openssl x509 -req -in {}.csr -CA {}.crt -CAkey {}.key -CAcreateserial -days {} -extfile ext "
                    "-out {}.crt",
                    name, authority, authority, days, name));
  }
  void Shell(const std::string& command) const {
    const auto code = RunProgram({"/bin/sh", "-c", "cd " + dir_.path() + " && " + command});
    EXPECT_EQ(code.value(), 0) << command;
  }

  static constexpr const char* kKey = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
  const TempDir dir_ = TempDir::Create("", "lockstep-pki-").value();
};

ChannelSecurity TlsAs(const std::string& client, const std::string& trusted = "ca") {
  ChannelSecurity security{.tls = true, .ca = Pki::Get().Path(trusted + ".crt"), .refresh_s = 1};
  if (!client.empty()) {
    security.certificate = Pki::Get().Path(client + ".crt");
    security.key = Pki::Get().Path(client + ".key");
  }
  return security;
}

class Security : public testing::Test {
 protected:
  // With a run of somebody in the store.
  void SetUp() override {
    store_ = OpenStore("sqlite", {.path = Path("runs.db")}).value();
    for (const char* run : {"secret-run", "train-1"}) {
      ASSERT_EQ(store_->OpenRun(run, -1), absl::OkStatus());
    }
    Put(Path("tokens"),
        "agent agent-token-00001 train-\nreader reader-token-0001\nreader narrow-token-0001 train-\n"
        "admin admin-token-00001\n");
    for (const char* name :
         {"agent-token-00001", "reader-token-0001", "narrow-token-0001", "admin-token-00001", "stranger-token-01"}) {
      Put(Path(name), name);
    }
  }

  void Start(const ServerTls& tls, bool tokens, int64_t grace_ns = 0) {
    AggregatorServerOptions options{.listen = "127.0.0.1:0", .tls = tls, .grace_ns = grace_ns};
    options.tokens = tokens ? Path("tokens") : "";
    auto server = AggregatorServer::Start(*store_, options);
    ASSERT_EQ(server.status(), absl::OkStatus());
    server_ = *std::move(server);
  }
  static ServerTls MutualTls() {
    return {.certificate = Pki::Get().Path("server.crt"),
            .key = Pki::Get().Path("server.key"),
            .client_ca = Pki::Get().Path("ca.crt"),
            .refresh_s = 1};
  }

  [[nodiscard]] std::string Path(const std::string& name) const { return dir_.path() + "/" + name; }
  [[nodiscard]] std::string TokenFile(const std::string& token) const { return token.empty() ? "" : Path(token); }
  [[nodiscard]] QueryClient Ask(const ChannelSecurity& security, const std::string& token = "") const {
    return {ConnectTo(server_->address(), security), server_->address(), TokenFile(token)};
  }

  // A small source, sent to its end.
  [[nodiscard]] absl::Status Send(const std::string& run, const ChannelSecurity& security, const std::string& token,
                                  bool replace = false) const {
    UplinkClient uplink(MakeGrpcTransport(ConnectTo(server_->address(), security), TokenFile(token)),
                        OptionsFor(run, replace), {});
    const absl::Status begun = uplink.BeginSource(Source(1));
    return begun.ok() ? uplink.Drain(false).status() : begun;
  }
  static UplinkClientOptions OptionsFor(const std::string& run, bool replace = false) {
    UplinkClientOptions options;
    options.session.hello = {.run = run, .agent = "node", .agent_version = "test", .replace = replace};
    options.give_up_after_ns = 0;
    return options;
  }
  static SourceContext Source(uint64_t number) {
    SourceContext context;
    context.source_id = {7, number};
    context.path = "trace.json";
    context.format = "kineto";
    return context;
  }

  // The code and the answer of any method, called with these bytes.
  [[nodiscard]] std::pair<grpc::StatusCode, std::string> Call(const std::string& method, const std::string& request,
                                                              const std::string& token,
                                                              const ChannelSecurity& security = {}) const {
    grpc::GenericStub stub(ConnectTo(server_->address(), security));
    grpc::ClientContext context;
    AddToken(TokenFile(token), context);
    const grpc::Slice slice(request);
    const grpc::ByteBuffer sent(&slice, 1);
    grpc::ByteBuffer received;
    std::promise<grpc::Status> done;
    stub.UnaryCall(&context, method, grpc::StubOptions(), &sent, &received,
                   [&](grpc::Status status) { done.set_value(std::move(status)); });
    const grpc::Status status = done.get_future().get();
    std::vector<grpc::Slice> slices;
    std::string bytes;
    if (status.ok() && received.Dump(&slices).ok()) {
      for (const grpc::Slice& part : slices) {
        bytes.append(reinterpret_cast<const char*>(part.begin()), part.size());
      }
    }
    return {status.error_code(), bytes};
  }
  [[nodiscard]] std::pair<grpc::StatusCode, std::string> Health(const std::string& token,
                                                                const ChannelSecurity& security = {}) const {
    return Call("/grpc.health.v1.Health/Check", "", token, security);
  }

  [[nodiscard]] std::vector<std::string> RunNames() const {
    std::vector<std::string> names;
    const auto runs = store_->ListRuns();
    for (const RunInfo& run : *runs) {
      names.push_back(run.name);
    }
    return names;
  }

  const TempDir dir_ = TempDir::Create("", "lockstep-security-").value();
  std::unique_ptr<JobStore> store_;
  std::unique_ptr<AggregatorServer> server_;
};

const std::vector<std::string> kUntouched = {"secret-run", "train-1"};

TEST_F(Security, MutualTlsLetsTheRightClientIn) {
  Start(MutualTls(), false);
  EXPECT_EQ(Ask(TlsAs("client")).Runs().value().size(), 2U);
  EXPECT_EQ(Send("new", TlsAs("client"), ""), absl::OkStatus());
}

TEST_F(Security, MutualTlsGivesNothingToAnyOtherClient) {
  Start(MutualTls(), false);
  ChannelSecurity wrong_name = TlsAs("client");
  wrong_name.server_name = "elsewhere.test";
  for (const auto& [what, security] : std::vector<std::pair<std::string, ChannelSecurity>>{
           {"plaintext", ChannelSecurity()},
           {"no certificate", TlsAs("")},
           {"expired", TlsAs("expired")},
           {"of another authority", TlsAs("stranger")},
           {"that trusts another authority", TlsAs("client", "other")},
           {"that expects another name", wrong_name},
       }) {
    EXPECT_TRUE(absl::IsUnavailable(Ask(security).Runs().status())) << what;
    EXPECT_FALSE(Send("new", security, "").ok()) << what;
  }
  EXPECT_EQ(RunNames(), kUntouched);
}

TEST_F(Security, AServerWithAnExpiredCertificateIsNotTrusted) {
  ServerTls tls = MutualTls();
  tls.certificate = Pki::Get().Path("expired.crt");
  tls.key = Pki::Get().Path("expired.key");
  Start(tls, false);
  EXPECT_TRUE(absl::IsUnavailable(Ask(TlsAs("client")).Runs().status()));
}

TEST_F(Security, TheNameOfTheCertificateMayBeGiven) {
  Start(MutualTls(), false);
  ChannelSecurity security = TlsAs("client");
  security.server_name = "agg.test";
  EXPECT_TRUE(Ask(security).Runs().ok());
}

TEST_F(Security, PemFilesThatCannotBeUsedAreToldAtTheStart) {
  ServerTls tls = MutualTls();
  tls.key = Path("no-such.key");
  const auto missing = AggregatorServer::Start(*store_, {.listen = "127.0.0.1:0", .tls = tls});
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("no-such.key"));
  for (const std::string& key : {Path("tokens"), Pki::Get().Path("server.crt"), Pki::Get().Path("client.key")}) {
    tls.key = key;
    const auto wrong = AggregatorServer::Start(*store_, {.listen = "127.0.0.1:0", .tls = tls});
    ASSERT_TRUE(absl::IsInvalidArgument(wrong.status())) << key;
    EXPECT_THAT(std::string(wrong.status().message()), HasSubstr(key));
  }
}

TEST_F(Security, ACertificateReplacedWhileRunningTakesEffect) {
  ServerTls tls = MutualTls();
  tls.client_ca.clear();
  tls.certificate = Path("agg.crt");
  tls.key = Path("agg.key");
  const auto use = [&](const std::string& name) {
    for (const char* kind : {".key", ".crt"}) {
      std::filesystem::copy_file(Pki::Get().Path(name + kind), Path("copy"),
                                 std::filesystem::copy_options::overwrite_existing);
      std::filesystem::rename(Path("copy"), Path(std::string("agg") + kind));
    }
  };
  use("server");
  Start(tls, false);
  ASSERT_TRUE(Ask(TlsAs("")).Runs().ok());
  ASSERT_FALSE(Ask(TlsAs("", "other")).Runs().ok());
  use("stranger");
  EXPECT_TRUE(Eventually([&] { return Ask(TlsAs("", "other")).Runs().ok(); }));
  EXPECT_FALSE(Ask(TlsAs("")).Runs().ok());
}

// --- tokens, over TLS and in plaintext alike ---

class Tokens : public Security, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    Security::SetUp();
    Start(GetParam() ? MutualTls() : ServerTls(), true);
  }
  [[nodiscard]] static ChannelSecurity Channel() { return GetParam() ? TlsAs("client") : ChannelSecurity(); }
  [[nodiscard]] QueryClient As(const std::string& token) const { return Ask(Channel(), token); }
};

TEST_P(Tokens, WithoutAKnownTokenNothingIsAnswered) {
  for (const std::string& token : {std::string(), std::string("stranger-token-01")}) {
    const QueryClient query = As(token);
    for (const absl::Status& status :
         {query.Runs().status(), query.Views("secret-run", {.views = {"ranks"}}).status(), query.FinishRun("train-1"),
          query.DropRun("train-1"), query.Prune({.keep_bytes = 0}).status(), Send("train-1", Channel(), token)}) {
      EXPECT_TRUE(absl::IsUnauthenticated(status)) << status;
      EXPECT_THAT(std::string(status.message()), Not(HasSubstr("secret-run")));
      EXPECT_THAT(std::string(status.message()), Not(HasSubstr("stranger-token")));
    }
  }
  EXPECT_EQ(RunNames(), kUntouched);
}

TEST_P(Tokens, AnAgentSendsRunsOfItsPrefixAndNothingElse) {
  const std::string token = "agent-token-00001";
  EXPECT_EQ(Send("train-2", Channel(), token), absl::OkStatus());
  EXPECT_EQ(Send("train-2", Channel(), token, /*replace=*/true), absl::OkStatus());
  EXPECT_TRUE(absl::IsPermissionDenied(Send("secret-run", Channel(), token, true)));
  EXPECT_TRUE(absl::IsPermissionDenied(Send("other", Channel(), token)));
  const QueryClient query = As(token);
  for (const absl::Status& status :
       {query.Runs().status(), query.Views("train-1", {.views = {"ranks"}}).status(), query.FinishRun("train-1"),
        query.DropRun("train-1"), query.Prune({.keep_bytes = 0}).status()}) {
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  }
  EXPECT_EQ(RunNames(), (std::vector<std::string>{"secret-run", "train-1", "train-2"}));
}

TEST_P(Tokens, AReaderAsksAndNothingElse) {
  const QueryClient query = As("reader-token-0001");
  EXPECT_EQ(query.Runs().value().size(), 2U);
  EXPECT_TRUE(absl::IsNotFound(query.Views("nothing", {.views = {"ranks"}}).status()));
  for (const absl::Status& status :
       {query.FinishRun("train-1"), query.DropRun("train-1"), query.Prune({.keep_bytes = 0}).status(),
        Send("train-1", Channel(), "reader-token-0001")}) {
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  }
  EXPECT_EQ(RunNames(), kUntouched);
}

TEST_P(Tokens, AReaderWithAPrefixDoesNotLearnWhetherOtherRunsExist) {
  const QueryClient query = As("narrow-token-0001");
  ASSERT_EQ(query.Runs().value().size(), 1U);
  EXPECT_EQ(query.Runs().value()[0].name, "train-1");
  const absl::Status there = query.Views("secret-run", {.views = {"ranks"}}).status();
  EXPECT_TRUE(absl::IsPermissionDenied(there));
  EXPECT_EQ(there, query.Views("no-such-run", {.views = {"ranks"}}).status());
}

TEST_P(Tokens, AnAdminFinishesDropsAndPrunes) {
  const QueryClient query = As("admin-token-00001");
  EXPECT_EQ(query.FinishRun("train-1"), absl::OkStatus());
  EXPECT_EQ(query.Prune({.keep_bytes = 0, .dry_run = true}).value().size(), 2U);
  EXPECT_EQ(query.DropRun("secret-run"), absl::OkStatus());
  EXPECT_EQ(RunNames(), (std::vector<std::string>{"train-1"}));
}

TEST_P(Tokens, AReplacedTokenFileTakesEffectAlsoOnOpenStreams) {
  UplinkClient uplink(MakeGrpcTransport(ConnectTo(server_->address(), Channel()), TokenFile("agent-token-00001")),
                      OptionsFor("train-2"), {});
  ASSERT_EQ(uplink.BeginSource(Source(1)), absl::OkStatus());
  Put(Path("tokens"), "reader stranger-token-01\n");
  EXPECT_TRUE(absl::IsUnauthenticated(uplink.BeginSource(Source(2))));
  EXPECT_TRUE(absl::IsUnauthenticated(As("reader-token-0001").Runs().status()));
  EXPECT_TRUE(As("stranger-token-01").Runs().ok());
}

// No service of ours answers here: what turns the stranger away stands before all services.
TEST_P(Tokens, HealthIsToldToEveryRoleAndToNobodyElse) {
  for (const char* token : {"agent-token-00001", "reader-token-0001", "admin-token-00001"}) {
    EXPECT_EQ(Health(token, Channel()), std::pair(grpc::StatusCode::OK, std::string("\x08\x01"))) << token;  // SERVING
  }
  EXPECT_EQ(Health("", Channel()).first, grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Health("stranger-token-01", Channel()).first, grpc::StatusCode::UNAUTHENTICATED);
}

INSTANTIATE_TEST_SUITE_P(Channels, Tokens, testing::Bool(),
                         [](const auto& channel) { return channel.param ? "MutualTls" : "Plaintext"; });

// --- health, drain, and what is not served ---

TEST_F(Security, ThereIsNoReflection) {
  Start({}, true);
  const std::string method = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
  EXPECT_EQ(Call(method, "", "").first, grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Call(method, "", "reader-token-0001").first, grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Call(method, "", "admin-token-00001").first, grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(Security, AServerThatGoesDownTurnsAwayNewCallsAndLetsOpenOnesFinish) {
  Start({}, false, kPatienceNs);
  UplinkClient uplink(MakeGrpcTransport(ConnectTo(server_->address())), OptionsFor("train-2"), {});
  ASSERT_EQ(uplink.BeginSource(Source(1)), absl::OkStatus());
  std::thread end([&] { server_->Shutdown(); });
  EXPECT_TRUE(Eventually([&] { return Health("").second == "\x08\x02"; })) << "NOT_SERVING";
  EXPECT_TRUE(Eventually([&] { return absl::IsUnavailable(Ask({}).Runs().status()); }));
  EXPECT_THAT(std::string(Ask({}).Runs().status().message()), HasSubstr("going down"));
  EXPECT_EQ(uplink.BeginSource(Source(2)), absl::OkStatus()) << "the open stream goes on";
  EXPECT_EQ(uplink.Drain(false).status(), absl::OkStatus());
  end.join();
  EXPECT_EQ(store_->LoadRun("train-2").value().data.sources.size(), 2U);
}

TEST_F(Security, ARunWithAnOpenStreamIsNotPrunedAndGoesAfterwards) {
  Start({}, false);
  ASSERT_EQ(store_->FinishRun("train-1"), absl::OkStatus());
  const QueryClient query = Ask({});
  {
    UplinkClient uplink(MakeGrpcTransport(ConnectTo(server_->address())), OptionsFor("train-1"), {});
    ASSERT_EQ(uplink.BeginSource(Source(1)), absl::OkStatus());
    ASSERT_TRUE(query.Prune({.keep_bytes = 0}).ok());
    EXPECT_EQ(RunNames(), kUntouched);
  }
  EXPECT_TRUE(Eventually([&] {
    return query.Prune({.keep_bytes = 0}).ok() && RunNames() == std::vector<std::string>{"secret-run"};
  })) << "the open, fresh run stays";
}

}  // namespace
}  // namespace lockstep
