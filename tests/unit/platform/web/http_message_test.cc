#include "platform/web/http_message.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep {
namespace {

TEST(AcceptsGzip, AsTheHeaderSays) {
  for (const char* text : {"gzip", "deflate, gzip;q=0.5", "br, *", "GZIP", "x-gzip", "gzip;q=1.0, identity"}) {
    EXPECT_TRUE(AcceptsGzip(text)) << text;
  }
  for (const char* text : {"", "br", "gzip;q=0", "gzip; q=0.000", "gzipped", "identity, *;q=0", ",;,"}) {
    EXPECT_FALSE(AcceptsGzip(text)) << text;
  }
}

TEST(NamesTag, ComparesWeakly) {
  EXPECT_TRUE(NamesTag("W/\"a\"", "W/\"a\""));
  EXPECT_TRUE(NamesTag("\"b\", \"a\"", "W/\"a\""));
  EXPECT_TRUE(NamesTag("*", "W/\"a\""));
  EXPECT_FALSE(NamesTag("\"ab\"", "W/\"a\""));
  EXPECT_FALSE(NamesTag("", "W/\"a\""));
}

TEST(HostOf, IsTheNameWithoutThePort) {
  EXPECT_EQ(HostOf("LocalHost:7780"), "localhost");
  EXPECT_EQ(HostOf("localhost."), "localhost");
  EXPECT_EQ(HostOf("[::1]:80"), "::1");
  EXPECT_EQ(HostOf("[::1]"), "::1");
  EXPECT_EQ(HostOf(" 127.0.0.1 "), "127.0.0.1");
  for (const char* text : {"", ":80", "[::1", "[::1]x", "a:b", "a:80:80", "localhost:evil.example", "[::1]:x", "/]",
                           "me@localhost", "localhost/x"}) {
    EXPECT_EQ(HostOf(text), "") << text;
  }
}

TEST(CookieValue, IsThatOfTheWholeName) {
  EXPECT_EQ(CookieValue("a=1; lockstep-7780=secret; b=2", "lockstep-7780"), "secret");
  EXPECT_EQ(CookieValue("xlockstep=1;lockstep=2", "lockstep"), "2");
  EXPECT_EQ(CookieValue("lockstep", "lockstep"), "");
  EXPECT_EQ(CookieValue("", "lockstep"), "");
}

TEST(HttpBody, IsCompressedOnlyWhereThatSavesSomething) {
  EXPECT_EQ(HttpBody("short").gzip(), "");
  const HttpBody body(std::string(100'000, 'x'));
  EXPECT_LT(body.gzip().size(), 1'000U);
  EXPECT_EQ(body.etag(), HttpBody(std::string(100'000, 'x')).etag());
  EXPECT_NE(body.etag(), HttpBody(std::string(99'999, 'x')).etag());
}

TEST(FormatEvent, LinesOfTheDataStayData) {
  EXPECT_EQ(*FormatEvent("run", "7", "a\nid: 9\r\n\rb"),
            "id: 7\nevent: run\ndata: a\ndata: id: 9\ndata: \ndata: b\n\n");
  EXPECT_EQ(*FormatEvent("", "", ""), "data: \n\n");
}

TEST(EventStream, IsCutOffWhenTooMuchWaits) {
  EventStream stream;
  const auto event = std::make_shared<const std::string>(EventStream::kMostWaitingBytes / 4, 'x');
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(stream.Push(event));
  EXPECT_FALSE(stream.overflowed());
  EXPECT_FALSE(stream.Push(event));
  EXPECT_TRUE(stream.closed());
  EXPECT_TRUE(stream.overflowed());
  EXPECT_EQ(stream.Take(), nullptr);
}

TEST(EventStream, GivesWhatCameInItsOrderAndWakesForEach) {
  EventStream stream;
  int woken = 0;
  stream.Attach([&] { ++woken; });
  EXPECT_TRUE(stream.Push(FormatEvent("a", "", "1")));
  EXPECT_TRUE(stream.Push(FormatEvent("b", "", "2")));
  EXPECT_EQ(woken, 3);
  EXPECT_EQ(*stream.Take(), "event: a\ndata: 1\n\n");
  EXPECT_EQ(*stream.Take(), "event: b\ndata: 2\n\n");
  EXPECT_EQ(stream.Take(), nullptr);
  stream.Detach();
  EXPECT_FALSE(stream.Push(FormatEvent("c", "", "3")));
  EXPECT_EQ(woken, 3);
}

}  // namespace
}  // namespace lockstep
