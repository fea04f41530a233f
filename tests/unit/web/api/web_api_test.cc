#include "web/api/web_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "analysis/report/json.h"
#include "tests/unit/web/api/fake_answers.h"
#include "web/answers/page_answers.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::Not;

// Tokens "all" (every run), "train" (runs that begin with train-) and "agent" (may not read).
class FakeAccess : public WebAccess {
 public:
  [[nodiscard]] absl::Status MayRead(const Digest& token, std::optional<std::string_view> run) override {
    if (!revoked && SameDigest(token, Sha256("all"))) return absl::OkStatus();
    if (SameDigest(token, Sha256("train"))) {
      return !run || run->starts_with("train-") ? absl::OkStatus() : absl::PermissionDeniedError("prefix");
    }
    if (SameDigest(token, Sha256("agent"))) return absl::PermissionDeniedError("role");
    return absl::UnauthenticatedError("unknown");
  }
  std::atomic<bool> revoked{false};
};

class WebApiTest : public testing::Test {
 protected:
  WebApiTest() {
    answers_.Put({.name = "train-1", .state = RunState::kComplete, .sources = 2, .complete_sources = 2});
    answers_.Put({.name = "a/b <i>\xFF", .state = RunState::kOpen, .revision = 3});
  }
  void Make(bool with_access, bool secure = false) {
    api_ = std::make_unique<WebApi>(answers_, with_access ? &access_ : nullptr,
                                    WebApiOptions{.hosts = {"lockstep.example"}, .secure = secure, .assets = &assets_});
  }
  // Waits for the answer.
  HttpAnswer Ask(HttpRequest request) {
    std::promise<HttpAnswer> answered;
    api_->Handle(request, [&](HttpAnswer answer) { answered.set_value(std::move(answer)); });
    return answered.get_future().get();
  }
  HttpResponse Get(const std::string& target, const std::string& authorization = "", const std::string& cookie = "",
                   const std::string& host = "127.0.0.1:7780") {
    return std::get<HttpResponse>(Ask(
        {.target = target, .host = host, .authorization = authorization, .cookie = cookie, .local_ip = "10.0.0.7"}));
  }
  static std::string BodyOf(const HttpResponse& response) {
    return response.body == nullptr ? "" : response.body->bytes();
  }
  static std::string Header(const HttpResponse& response, const std::string& name) {
    for (const HttpHeader& header : response.headers) {
      if (header.name == name) return header.value;
    }
    return "";
  }

  FakeAnswers answers_;
  FakeAccess access_;
  const PageAssets assets_{"run()", "body{}"};
  std::unique_ptr<WebApi> api_;
};

TEST_F(WebApiTest, OnlyItsOwnNamesReachIt) {
  Make(false);
  for (const char* host :
       {"localhost", "LOCALHOST:1", "127.0.0.1:7780", "[::1]:7780", "lockstep.example", "10.0.0.7:80"}) {
    EXPECT_EQ(Get("/api/v1/runs", "", "", host).status, 200) << host;
  }
  for (const char* host :
       {"evil.example", "localhost.evil.example", "10.0.0.8", "127.0.0.1.evil.example", "", "[::2]"}) {
    for (const char* target : {"/", "/api/v1/runs", "/api/v1/openapi.json", "/%"}) {
      const HttpResponse response = Get(target, "", "", host);
      EXPECT_EQ(response.status, 421) << host;
      EXPECT_THAT(BodyOf(response), Not(HasSubstr("train")));
    }
  }
}

TEST_F(WebApiTest, ListsTheRunsWithTheirEncodedPaths) {
  Make(false);
  const Json runs = Json::parse(BodyOf(Get("/api/v1/runs")));
  EXPECT_EQ(runs["schema"], "lockstep.runs/1");
  EXPECT_EQ(runs["runs"][0]["path"], "a%2Fb%20%3Ci%3E%FF");
  EXPECT_EQ(runs["runs"][0]["name"], "a/b <i>\xEF\xBF\xBD");
  EXPECT_EQ(runs["runs"][1]["name"], "train-1");
}

TEST_F(WebApiTest, AReportIsWhatTheAggregatorSaidByteForByte) {
  Make(false);
  EXPECT_EQ(BodyOf(Get("/api/v1/runs/train-1/report?view=ranks,quality&view=skew")),
            "{\"run\": \"train-1\", \"views\": \"ranks,quality,skew\"}");
  EXPECT_THAT(BodyOf(Get("/api/v1/runs/train-1/report")), HasSubstr("\"views\": \"summary\""));
  EXPECT_THAT(BodyOf(Get("/api/v1/runs/a%2fb%20%3ci%3e%ff/report")), HasSubstr("a/b <i>"));
  EXPECT_EQ(Get("/api/v1/runs/train-1/report?view=nonsense").status, 400);
}

TEST_F(WebApiTest, TheSameQuestionIsAskedOnceUntilTheRunChanges) {
  Make(false);
  RunInfo run{.name = "growing", .state = RunState::kOpen, .revision = 1};
  answers_.Put(run);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Get("/api/v1/runs/growing/report").status, 200);
  EXPECT_EQ(answers_.questions(), 1);
  EXPECT_EQ(Get("/api/v1/runs/growing/report?other=1").status, 200);
  EXPECT_EQ(answers_.questions(), 1);
  run.revision = 2;
  answers_.Put(run);
  EXPECT_EQ(Get("/api/v1/runs/growing/report").status, 200);
  EXPECT_EQ(answers_.questions(), 2);
}

TEST_F(WebApiTest, WhatIsNotThereOrMalformedIsSaidAsJson) {
  Make(false);
  const std::map<std::string, int> wanted = {
      {"/nothing", 404},
      {"/api/v1/runs/none/page", 404},
      {"/api/v1/runs/none/report", 404},
      {"/api/v2/runs", 404},
      {"/api/v1/runs//page", 404},
      {"/api/v1/runs/train-1", 404},
      {"/..%2f..%2fetc/passwd", 404},
      {"/assets/../../etc/passwd", 404},
      {"/assets/page.js", 404},
      {"/%", 400},
      {"/api/v1/runs/%zz/page", 400},
      {"/api/v1/compare?base=train-1", 400},
      {"/api/v1/compare?base=train-1&new=none", 404},
      {"/api/v1/history?metric=nonsense", 400},
      {"/api/v1/history?context=nonsense", 400},
  };
  for (const auto& [target, status] : wanted) {
    const HttpResponse response = Get(target);
    EXPECT_EQ(response.status, status) << target;
    const Json error = Json::parse(BodyOf(response), nullptr, false);
    ASSERT_FALSE(error.is_discarded()) << target;
    EXPECT_FALSE(std::string(error["error"]).empty());
    EXPECT_FALSE(std::string(error["reason"]).empty());
  }
}

TEST_F(WebApiTest, AnAggregatorThatCannotBeAskedIsNoFaultOfTheAsker) {
  Make(false);
  answers_.Fail(absl::UnavailableError("nobody there"));
  EXPECT_EQ(Get("/api/v1/runs").status, 503);
  EXPECT_EQ(Header(Get("/api/v1/runs"), "Retry-After"), "2");
  answers_.Fail(absl::UnauthenticatedError("the token of the server"));
  EXPECT_EQ(Get("/api/v1/runs").status, 503);
}

TEST_F(WebApiTest, WithTokensNothingIsSaidWithoutOne) {
  Make(true);
  for (const char* target :
       {"/api/v1/runs", "/api/v1/runs/train-1/page", "/api/v1/runs/none/page", "/api/v1/runs/train-1/events",
        "/api/v1/compare?base=train-1&new=train-1", "/api/v1/history", "/api/v1/login"}) {
    for (const char* authorization : {"", "Bearer wrong", "Bearer ", "Basic YTpi", "all", "bearer all"}) {
      const HttpResponse response = Get(target, authorization);
      EXPECT_EQ(response.status, 401) << target << authorization;
      EXPECT_THAT(Header(response, "WWW-Authenticate"), HasSubstr("Bearer"));
      EXPECT_THAT(BodyOf(response), Not(HasSubstr("train")));
    }
    EXPECT_EQ(Get(target, "Bearer agent").status, 403);
  }
  EXPECT_EQ(answers_.questions(), 0);
  EXPECT_EQ(Get("/api/v1/runs", "Bearer all").status, 200);
}

TEST_F(WebApiTest, APrefixHidesWhetherOtherRunsExist) {
  Make(true);
  const Json runs = Json::parse(BodyOf(Get("/api/v1/runs", "Bearer train")));
  ASSERT_EQ(runs["runs"].size(), 1U);
  EXPECT_EQ(runs["runs"][0]["name"], "train-1");
  EXPECT_EQ(BodyOf(Get("/api/v1/runs/other/report", "Bearer train")),
            BodyOf(Get("/api/v1/runs/a%2Fb%20%3Ci%3E%FF/report", "Bearer train")));
  EXPECT_EQ(Get("/api/v1/runs/other/report", "Bearer train").status, 403);
  EXPECT_EQ(Get("/api/v1/runs/train-1/report", "Bearer train").status, 200);
  // Seen as not there, also by a comparison.
  EXPECT_EQ(Get("/api/v1/compare?base=train-1&new=a%2Fb%20%3Ci%3E%FF", "Bearer train").status, 404);
}

TEST_F(WebApiTest, ATokenIsExchangedForACookieThatScriptsAndOtherSitesCannotUse) {
  Make(true);
  const HttpResponse in = Get("/api/v1/login", "Bearer all");
  EXPECT_EQ(in.status, 204);
  const std::string set = Header(in, "Set-Cookie");
  EXPECT_THAT(set, testing::StartsWith("lockstep-7780="));
  for (const char* part : {"; HttpOnly", "; SameSite=Strict", "; Path=/"}) EXPECT_THAT(set, HasSubstr(part));
  EXPECT_THAT(set, Not(HasSubstr("Secure")));
  const std::string cookie = set.substr(0, set.find(';'));
  EXPECT_EQ(Get("/api/v1/runs", "", cookie).status, 200);
  EXPECT_EQ(Get("/api/v1/runs", "Bearer wrong", cookie).status, 401);
  EXPECT_EQ(Get("/api/v1/runs", "", cookie + "0").status, 401);
  access_.revoked = true;
  EXPECT_EQ(Get("/api/v1/runs", "", cookie).status, 401);
  access_.revoked = false;
  EXPECT_EQ(Get("/api/v1/logout", "", cookie).status, 204);
  EXPECT_EQ(Get("/api/v1/runs", "", cookie).status, 401);
}

TEST_F(WebApiTest, OverTlsTheCookieIsForTlsAndThisHostOnly) {
  Make(true, /*secure=*/true);
  const std::string set = Header(Get("/api/v1/login", "Bearer all"), "Set-Cookie");
  EXPECT_THAT(set, testing::StartsWith("__Host-lockstep-7780="));
  EXPECT_THAT(set, HasSubstr("; Secure"));
}

TEST_F(WebApiTest, APageNamesItsSourceAndHoldsNothingOfTheRequestAsMarkup) {
  Make(true);  // pages need no token: they hold nothing
  const std::string run = BodyOf(Get("/runs/%3Cscript%3Ealert(1)%3C%2Fscript%3E%22%27"));
  EXPECT_THAT(run, HasSubstr("content=\"/api/v1/runs/%3Cscript%3Ealert%281%29%3C%2Fscript%3E%22%27/page\""));
  EXPECT_THAT(run, HasSubstr("name=\"lockstep-live\" content=\"/api/v1/runs/%3Cscript"));
  EXPECT_THAT(run, Not(HasSubstr("<script>alert")));
  const std::string compare = BodyOf(Get("/compare?base=a%22&new=%3Cb&%22=%3E"));
  EXPECT_THAT(compare, HasSubstr("content=\"/api/v1/compare?base=a%22&amp;new=%3Cb&amp;%22=%3E\""));
  EXPECT_THAT(BodyOf(Get("/history?metric=compute")), HasSubstr("/api/v1/history?metric=compute"));
  EXPECT_EQ(BodyOf(Get("/runs/none")).size() > 0, true);
}

TEST_F(WebApiTest, ScriptAndStyleAreFoundUnderTheNamesThatThePagesGive) {
  Make(false);
  const std::string page = BodyOf(Get("/"));
  for (const auto& [before, want] : {std::pair{"src=\"", "run()"}, {"stylesheet\" href=\"", "body{}"}}) {
    const size_t at = page.find(before) + std::string(before).size();
    const HttpResponse asset = Get(page.substr(at, page.find('"', at) - at));
    EXPECT_EQ(BodyOf(asset), want);
    EXPECT_THAT(Header(asset, "Cache-Control"), HasSubstr("immutable"));
  }
}

TEST_F(WebApiTest, TheHeadersLetNothingElseRun) {
  Make(false);
  std::map<std::string, std::string> headers;
  for (const HttpHeader& header : api_->Headers()) headers[header.name] = header.value;
  const std::string& policy = headers["Content-Security-Policy"];
  for (const char* part : {"default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'",
                           "script-src 'self' 'sha256-AvyuiL0SD1mVY3NNxR+V2uo+lhk6RMFrytWmRt6CrJQ='"}) {
    EXPECT_THAT(policy, HasSubstr(part));
  }
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_EQ(headers["X-Content-Type-Options"], "nosniff");
  EXPECT_EQ(headers["Referrer-Policy"], "no-referrer");
  EXPECT_EQ(headers["Cross-Origin-Opener-Policy"], "same-origin");
  EXPECT_EQ(headers["Cross-Origin-Resource-Policy"], "same-origin");
  EXPECT_FALSE(headers.contains("Access-Control-Allow-Origin"));
  EXPECT_EQ(Header(Get("/api/v1/runs"), "Cache-Control"), "no-store");
}

TEST_F(WebApiTest, ABuildWithoutPagesSaysSoAndItsApiWorks) {
  api_ = std::make_unique<WebApi>(answers_, nullptr, WebApiOptions{});
  EXPECT_EQ(Get("/").status, 501);
  EXPECT_THAT(BodyOf(Get("/runs/x")), HasSubstr("built without pages"));
  EXPECT_EQ(Get("/assets/page.js").status, 404);
  EXPECT_EQ(Get("/api/v1/runs").status, 200);
}

TEST_F(WebApiTest, AStreamTellsEachChangeOfItsRunAndNoOther) {
  Make(true);
  RunInfo run{.name = "train-2", .state = RunState::kOpen, .revision = 1};
  answers_.Put(run);
  const auto stream = std::get<std::shared_ptr<EventStream>>(
      Ask({.target = "/api/v1/runs/train-2/events", .host = "localhost", .authorization = "Bearer train"}));
  const auto next = [&] {
    for (;;) {
      if (const SharedText event = stream->Take()) return *event;
      std::this_thread::yield();
    }
  };
  const std::string first = next();
  EXPECT_THAT(first, HasSubstr("event: run\n"));
  EXPECT_THAT(first, HasSubstr("\"state\":\"open\""));
  answers_.Put({.name = "train-1", .revision = 9});
  run.revision = 2;
  answers_.Put(run);
  const std::string second = next();
  EXPECT_THAT(second, HasSubstr("id: " + VersionOf(run) + "\n"));
  EXPECT_NE(first, second);
  run.state = RunState::kComplete;
  answers_.Put(run);
  EXPECT_THAT(next(), HasSubstr("\"state\":\"complete\""));
  answers_.Drop("train-2");
  EXPECT_THAT(next(), HasSubstr("event: gone\n"));
  api_->Stop();
  EXPECT_TRUE(stream->closed());
}

TEST_F(WebApiTest, AStreamEndsWhenItsTokenIsTakenAway) {
  Make(true);
  const auto stream = std::get<std::shared_ptr<EventStream>>(
      Ask({.target = "/api/v1/runs/train-1/events", .host = "localhost", .authorization = "Bearer all"}));
  access_.revoked = true;
  while (!stream->closed()) std::this_thread::yield();
}

TEST_F(WebApiTest, AnyTargetHasAnAnswer) {
  Make(false);
  std::mt19937 draw(5);
  const std::vector<std::string> parts = {
      "/",     "api", "v1", "runs",    "train-1", "page", "events",  "..",     "%2e", "%",  "?",
      "view=", "&",   "=",  "compare", "base=",   "new=", "history", "report", "%00", "//", "assets"};
  for (int round = 0; round < 3000; ++round) {
    std::string target = "/";
    for (size_t n = draw() % 8; n > 0; --n) target += parts[draw() % parts.size()] + (draw() % 2 == 0 ? "/" : "");
    const HttpAnswer answer = Ask({.target = target, .host = "localhost"});
    if (const auto* response = std::get_if<HttpResponse>(&answer)) {
      EXPECT_GE(response->status, 200) << target;
      EXPECT_LT(response->status, 600) << target;
    }
  }
}

}  // namespace
}  // namespace lockstep
