#include "platform/web/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "platform/clock.h"
#include "platform/mutex.h"
#include "tests/support/http/naive_client.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kPatienceNs = 60'000 * kMs;

template <typename Condition>
bool Eventually(Condition condition) {
  const int64_t end = SystemClock().MonotonicNs() + kPatienceNs;
  while (!condition()) {
    if (SystemClock().MonotonicNs() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

// Answers "/echo..." with what was asked, "/large" with 32 MiB, "/events" with a stream that the test holds, and holds
// back the answer to "/later" until the test gives it.
class HttpServerTest : public testing::Test {
 protected:
  void Start(HttpServerOptions options = {}) {
    options.listen = "127.0.0.1:0";
    options.headers = {{"X-Every", "answer"}};
    server_ = HttpServer::Start(options, [this](HttpRequest request, HttpResponder responder) {
                Handle(request, std::move(responder));
              }).value();
  }
  void TearDown() override {
    if (server_ != nullptr) server_->Stop();
    later_.clear();
    server_ = nullptr;
  }

  void Handle(const HttpRequest& request, HttpResponder responder) {
    if (request.target == "/events") {
      const MutexLock lock(mutex_);
      streams_.push_back(std::make_shared<EventStream>());
      return responder(streams_.back());
    }
    if (request.target == "/later") {
      const MutexLock lock(mutex_);
      later_.push_back(std::move(responder));
      return;
    }
    HttpResponse response{.content_type = "text/plain"};
    response.body = request.target == "/large"
                        ? large_
                        : std::make_shared<const HttpBody>(request.target + "|" + request.host + "|" +
                                                           request.authorization + "|" + request.local_ip);
    responder(std::move(response));
  }

  size_t Held() {
    const MutexLock lock(mutex_);
    return later_.size();
  }
  std::shared_ptr<EventStream> Stream(size_t i) {
    EXPECT_TRUE(Eventually([&] {
      const MutexLock lock(mutex_);
      return streams_.size() > i;
    }));
    const MutexLock lock(mutex_);
    return streams_[i];
  }
  [[nodiscard]] NaiveAnswer AnswerTo(const std::string& bytes) const {
    NaiveClient client(server_->address());
    client.Send(bytes);
    return client.ReadAnswer();
  }

  static constexpr size_t kLargeBytes = size_t{32} << 20;
  const std::shared_ptr<const HttpBody> large_ = std::make_shared<const HttpBody>(std::string(kLargeBytes, 'x'));
  Mutex mutex_;
  std::vector<std::shared_ptr<EventStream>> streams_ LOCKSTEP_GUARDED_BY(mutex_);
  std::vector<HttpResponder> later_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersOneAfterTheOtherOnOneConnection) {
  Start();
  NaiveClient client(server_->address());
  for (int i = 0; i < 100; ++i) {
    const NaiveAnswer answer = client.Get("/echo/" + std::to_string(i), "Authorization: Bearer t\r\n");
    ASSERT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "/echo/" + std::to_string(i) + "|" + server_->address() + "|Bearer t|127.0.0.1");
    EXPECT_EQ(answer.headers.at("x-every"), "answer");
  }
  EXPECT_EQ(server_->load().answered_2xx, 100);
  EXPECT_EQ(server_->load().connections, 1);
}

TEST_F(HttpServerTest, PipelinedRequestsAreAnsweredInTheirOrder) {
  Start();
  NaiveClient client(server_->address());
  client.Send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\nGET /3 HTTP/1.1\r\nHost: h\r\n\r\n");
  for (const char* target : {"/1", "/2", "/3"}) EXPECT_THAT(client.ReadAnswer().body, StartsWith(target));
}

TEST_F(HttpServerTest, ARequestThatComesByteByByteIsOne) {
  Start();
  NaiveClient client(server_->address());
  for (const char byte : std::string("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")) ASSERT_TRUE(client.Send({&byte, 1}));
  EXPECT_THAT(client.ReadAnswer().body, StartsWith("/slow"));
}

TEST_F(HttpServerTest, HeadHasTheHeaderAndNoBody) {
  Start();
  NaiveClient client(server_->address());
  client.Send("HEAD /large HTTP/1.1\r\nHost: h\r\n\r\n");
  const NaiveAnswer head = client.ReadAnswer(/*head=*/true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), std::to_string(kLargeBytes));
  EXPECT_THAT(client.Get("/next").body, StartsWith("/next"));
}

TEST_F(HttpServerTest, OneWhoHasTheAnswerAlreadyGetsNoBody) {
  Start();
  NaiveClient client(server_->address());
  const NaiveAnswer first = client.Get("/same");
  const NaiveAnswer again = client.Get("/same", "If-None-Match: " + first.headers.at("etag") + "\r\n");
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(client.Get("/other", "If-None-Match: " + first.headers.at("etag") + "\r\n").status, 200);
}

TEST_F(HttpServerTest, WhoeverTakesGzipGetsIt) {
  Start();
  NaiveClient client(server_->address());
  const NaiveAnswer packed = client.Get("/large", "Accept-Encoding: gzip\r\n");
  EXPECT_EQ(packed.headers.at("content-encoding"), "gzip");
  EXPECT_EQ(packed.body, large_->gzip());
  EXPECT_EQ(client.Get("/large").body.size(), kLargeBytes);
}

TEST_F(HttpServerTest, RefusesAllThatIsNoReadOnlyRequest) {
  Start();
  const std::string long_path = "/" + std::string(5'000, 'a');
  const std::string big_header = "X: " + std::string(10'000, 'a') + "\r\n";
  const std::vector<std::pair<int, std::string>> cases = {
      {405, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"},
      {405, "DELETE / HTTP/1.1\r\nHost: h\r\n\r\n"},
      {405, "CONNECT a:1 HTTP/1.1\r\nHost: h\r\n\r\n"},
      {405, "OPTIONS / HTTP/1.1\r\nHost: h\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"},
      {400, "GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n"},
      {400, "\x16\x03\x01\x02 this is a TLS hello\r\n\r\n"},
      {400, "SSH-2.0-OpenSSH_9.2\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: h\r\nbad header\r\n\r\n"},
      {414, "GET " + long_path + " HTTP/1.1\r\nHost: h\r\n\r\n"},
      {431, "GET / HTTP/1.1\r\nHost: h\r\n" + big_header + "\r\n"},
  };
  for (const auto& [status, bytes] : cases) {
    NaiveAnswer answer = AnswerTo(bytes);
    EXPECT_EQ(answer.status, status) << bytes.substr(0, 80);
    EXPECT_THAT(answer.body, HasSubstr("\"reason\"")) << bytes.substr(0, 80);
    EXPECT_EQ(answer.headers["connection"], "close");
    EXPECT_EQ(answer.headers["x-every"], "answer");
  }
  EXPECT_EQ(server_->load().malformed_requests, static_cast<int64_t>(cases.size()));
  EXPECT_EQ(AnswerTo("GET / HTTP/1.1\r\nHost: h\r\n\r\n").status, 200);
}

TEST_F(HttpServerTest, AHeaderThatNeverEndsIsCutOff) {
  Start({.header_ns = 100 * kMs});
  NaiveClient client(server_->address());
  client.Send("GET / HTTP/1.1\r\nHost:");
  EXPECT_EQ(client.ReadAll(), "");
  NaiveClient silent(server_->address());
  EXPECT_EQ(silent.ReadAll(), "");
}

TEST_F(HttpServerTest, AConnectionThatIsNotUsedAnyMoreEnds) {
  Start({.idle_ns = 100 * kMs});
  NaiveClient client(server_->address());
  EXPECT_EQ(client.Get("/").status, 200);
  EXPECT_EQ(client.ReadAll(), "");
}

// A connection is silent from the moment that the server has seen its answer go out, which is after the client has it.
void LetItFallSilent() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

TEST_F(HttpServerTest, TheLongestSilentMakesRoomAndTheBusyStay) {
  Start({.max_connections = 4});
  NaiveClient busy(server_->address());
  busy.Send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return Held() == 1; }));
  NaiveClient first(server_->address());
  EXPECT_EQ(first.Get("/").status, 200);
  LetItFallSilent();
  NaiveClient second(server_->address());
  EXPECT_EQ(second.Get("/").status, 200);
  LetItFallSilent();
  NaiveClient third(server_->address());
  EXPECT_EQ(third.Get("/").status, 200);
  NaiveClient fourth(server_->address());
  EXPECT_EQ(fourth.Get("/").status, 200);
  EXPECT_EQ(first.ReadAll(), "");  // closed
  EXPECT_EQ(second.Get("/").status, 200);
  EXPECT_EQ(server_->load().evicted_connections, 1);
  later_[0](HttpResponse{.status = 204});
  EXPECT_EQ(busy.ReadAnswer().status, 204);
}

TEST_F(HttpServerTest, ThousandsOfSilentConnectionsLeaveItBoundedAndAnswering) {
  Start({.max_connections = 16});
  std::vector<std::unique_ptr<NaiveClient>> crowd;
  int64_t most = 0;
  for (int i = 0; i < 500; ++i) {
    crowd.push_back(std::make_unique<NaiveClient>(server_->address()));
    most = std::max(most, server_->load().connections);
  }
  EXPECT_LE(most, 16 + 64);
  EXPECT_EQ(NaiveClient(server_->address()).Get("/").status, 200);
}

TEST_F(HttpServerTest, AReaderThatDoesNotReadIsCutOffAndHoldsUpNobody) {
  Start({.write_ns =
             1'500 * kMs});  // in which the other reader takes 64 KiB on the busiest machine, under a sanitizer too
  NaiveClient slow(server_->address());
  slow.Send("GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(NaiveClient(server_->address()).Get("/large").body.size(), kLargeBytes);
  EXPECT_TRUE(Eventually([&] { return server_->load().slow_readers == 1; }));
  EXPECT_LT(slow.ReadAll().size(), kLargeBytes);
}

TEST_F(HttpServerTest, ABrowserThatHasEndedItsSideStillGetsItsAnswer) {
  Start();
  NaiveClient client(server_->address());
  client.Send("GET /half HTTP/1.1\r\nHost: h\r\n\r\n");
  client.EndSending();
  EXPECT_THAT(client.ReadAnswer().body, StartsWith("/half"));
  EXPECT_EQ(client.ReadAll(), "");
}

TEST_F(HttpServerTest, ABrowserThatIsGoneBeforeItsAnswerHarmsNobody) {
  Start();
  {
    NaiveClient client(server_->address());
    client.Send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
    ASSERT_TRUE(Eventually([&] { return Held() == 1; }));
  }
  later_[0](HttpResponse{.body = large_});
  later_.clear();
  EXPECT_TRUE(Eventually([&] { return server_->load().connections == 0; }));
}

TEST_F(HttpServerTest, AnAnswerMayComeFromAnyThreadAndTwiceIsNotNeeded) {
  Start();
  NaiveClient client(server_->address());
  client.Send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return Held() == 1; }));
  std::thread([this] {
    later_[0](HttpResponse{.status = 404, .body = std::make_shared<const HttpBody>("no")});
  }).join();
  EXPECT_EQ(client.ReadAnswer().body, "no");
}

TEST_F(HttpServerTest, AResponderThatIsForgottenEndsTheConnection) {
  Start();
  NaiveClient client(server_->address());
  client.Send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return Held() == 1; }));
  later_.clear();
  EXPECT_EQ(client.ReadAll(), "");
}

TEST_F(HttpServerTest, EventsComeAsTheyArePushed) {
  Start();
  NaiveClient client(server_->address());
  client.Send("GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
  const auto stream = Stream(0);
  const std::string header = client.ReadUntil("\r\n\r\n");
  EXPECT_THAT(header, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(header, HasSubstr("X-Every: answer\r\n"));
  for (int i = 0; i < 50; ++i) {
    stream->Push(FormatEvent("run", std::to_string(i), "{}"));
    EXPECT_EQ(client.ReadUntil("\n\n"), "id: " + std::to_string(i) + "\nevent: run\ndata: {}\n\n");
  }
  EXPECT_EQ(server_->load().streams, 1);
  stream->Close();
  EXPECT_EQ(client.ReadAll(), "");
  EXPECT_TRUE(Eventually([&] { return server_->load().streams == 0; }));
}

TEST_F(HttpServerTest, AStreamWithoutEventsIsKeptOpenByComments) {
  Start({.heartbeat_ns = 10 * kMs});
  NaiveClient client(server_->address());
  client.Send("GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(client.ReadUntil(":\n\n:\n\n:\n\n"), HasSubstr(":\n\n:\n\n:\n\n"));
}

TEST_F(HttpServerTest, APageThatIsClosedEndsItsStream) {
  Start();
  {
    NaiveClient client(server_->address());
    client.Send("GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_NE(client.ReadUntil("\r\n\r\n"), "");
  }
  const auto stream = Stream(0);
  EXPECT_TRUE(Eventually([&] { return stream->closed(); }));
}

TEST_F(HttpServerTest, AListenerThatDoesNotReadIsCutOff) {
  Start({.write_ns = 300 * kMs});
  NaiveClient client(server_->address());
  client.Send("GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
  const auto stream = Stream(0);
  const auto event = std::make_shared<const std::string>(size_t{16} << 10, 'x');
  EXPECT_TRUE(Eventually([&] { return !stream->Push(event); }));
  EXPECT_TRUE(Eventually([&] { return server_->load().slow_readers >= 1; }));
  EXPECT_TRUE(Eventually([&] { return server_->load().connections == 0; }));
}

TEST_F(HttpServerTest, StreamsLeaveRoomForRequests) {
  Start({.max_streams = 2});
  std::vector<std::unique_ptr<NaiveClient>> pages;
  for (int i = 0; i < 2; ++i) {
    pages.push_back(std::make_unique<NaiveClient>(server_->address()));
    pages.back()->Send("GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_THAT(pages.back()->ReadUntil("\r\n\r\n"), HasSubstr("200 OK"));
  }
  NaiveClient third(server_->address());
  EXPECT_EQ(third.Get("/events").status, 503);
  EXPECT_EQ(NaiveClient(server_->address()).Get("/").status, 200);
}

TEST_F(HttpServerTest, StoppingEndsStreamsAndSilentOnesAndLetsAnAnswerGoOut) {
  Start({.grace_ns = kPatienceNs});
  NaiveClient silent(server_->address());
  EXPECT_EQ(silent.Get("/").status, 200);
  NaiveClient listener(server_->address());
  listener.Send("GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
  const auto stream = Stream(0);
  NaiveClient busy(server_->address());
  busy.Send("GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return Held() == 1; }));
  std::thread stopping([&] { server_->Stop(); });
  EXPECT_EQ(silent.ReadAll(), "");
  EXPECT_TRUE(Eventually([&] { return stream->closed(); }));
  later_[0](HttpResponse{.body = std::make_shared<const HttpBody>("at last")});
  later_.clear();
  EXPECT_EQ(busy.ReadAnswer().body, "at last");
  stopping.join();
  EXPECT_EQ(NaiveClient(server_->address()).Get("/").status, 0);
}

TEST_F(HttpServerTest, StartingAndStoppingAtOnceIsInOrder) {
  for (int i = 0; i < 20; ++i) {
    Start();
    server_ = nullptr;
  }
}

TEST_F(HttpServerTest, APortInUseIsAClearError) {
  Start();
  HttpServerOptions options{.listen = server_->address()};
  const auto second = HttpServer::Start(options, [](HttpRequest, const HttpResponder&) {});
  EXPECT_TRUE(absl::IsUnavailable(second.status())) << second.status();
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(server_->address()));
  options.listen = "nonsense";
  EXPECT_TRUE(absl::IsInvalidArgument(HttpServer::Start(options, [](HttpRequest, const HttpResponder&) {}).status()));
}

TEST_F(HttpServerTest, ManyAskersAtOnceAllGetTheirAnswers) {
  Start();
  std::vector<std::thread> askers;
  std::atomic<int> right{0};
  for (int asker = 0; asker < 8; ++asker) {
    askers.emplace_back([&, asker] {
      for (int i = 0; i < 40; ++i) {
        NaiveClient client(server_->address());
        const std::string target = "/" + std::to_string(asker) + "/" + std::to_string(i);
        if (client.Get(target).body.starts_with(target + "|") && client.Get(target).status == 200) ++right;
      }
    });
  }
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(right, 8 * 40);
}

}  // namespace
}  // namespace lockstep
