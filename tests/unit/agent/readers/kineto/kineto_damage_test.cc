// Damaged, cut and foreign input: what is salvaged, what is counted, what is refused.
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/agent/readers/kineto/read_text.h"

namespace lockstep {
namespace {

std::vector<std::string> KernelNames(const CollectingSink& sink) {
  std::vector<std::string> names;
  for (const DeviceRecord& r : sink.devices) names.emplace_back(sink.NameOf(r.name));
  return names;
}

using Names = std::vector<std::string>;

std::string ThreeKernels(std::string_view middle) {
  return Trace(Kernel("first", "1", "1") + ",\n" + std::string(middle) + ",\n" + Kernel("last", "3", "1"));
}

TEST(KinetoDamage, AnUnescapedQuoteCostsOneEvent) {
  for (const char* name : {R"(say "hello" twice)", R"(odd " quote)", R"(two ""))", R"(ends with a backslash \)"}) {
    SCOPED_TRACE(name);
    const auto reading = ReadText(ThreeKernels(Kernel(name, "2", "1")));
    ASSERT_TRUE(reading->partial()) << reading->why();
    EXPECT_EQ(KernelNames(reading->sink), (Names{"first", "last"}));
    EXPECT_EQ(reading->sink.CountOf(DropReason::kResync), 1);
    EXPECT_GT(reading->result->damage_offset, 0);
    EXPECT_NE(reading->why().find("unreadable"), std::string::npos);
  }
}

TEST(KinetoDamage, AnUnescapedQuoteInTheLastEventKeepsWhatFollowsTheArray) {
  const auto reading =
      ReadText(Trace(Kernel("first", "1", "1") + "," + Kernel("a\"b", "2", "1"), "", R"(,"baseTimeNanoseconds":5)"));
  ASSERT_TRUE(reading->partial());
  EXPECT_EQ(KernelNames(reading->sink), (Names{"first"}));
  EXPECT_EQ(reading->sink.context().base_unix_ns, 5);
}

TEST(KinetoDamage, AnUnescapedQuoteInTheArgumentsOfASkippedRowCostsOnlyThatRow) {
  const auto reading = ReadText(ThreeKernels(
      R"({"ph":"X","cat":"python_function","name":"f","ts":1,"dur":1,"args":{"Call stack":"a"b","grid":[1,{"x":2}]}})"));
  EXPECT_EQ(KernelNames(reading->sink), (Names{"first", "last"}));
}

TEST(KinetoDamage, InvalidEscapesKeepTheRecordAndAreCounted) {
  const auto reading = ReadText(ThreeKernels(Kernel(R"(C:\Users\.x)", "2", "1")));
  ASSERT_TRUE(reading->whole()) << reading->why();
  EXPECT_EQ(KernelNames(reading->sink), (Names{"first", R"(C:\Users\.x)", "last"}));
  EXPECT_EQ(reading->sink.CountOf(DropReason::kBadString), 1);
}

TEST(KinetoDamage, RawControlCharactersAndInvalidUtf8ReachTheSinkAsTheyAre) {
  const auto reading = ReadText(ThreeKernels(Kernel("a\n\tb\xFF\xC0", "2", "1")));
  ASSERT_TRUE(reading->whole());
  EXPECT_EQ(KernelNames(reading->sink)[1], "a\n\tb\xFF\xC0");
}

TEST(KinetoDamage, EscapedNamesAreDecoded) {
  const auto reading = ReadText(ThreeKernels(Kernel(R"(q\"\u00e9)", "2", "1")));
  EXPECT_EQ(KernelNames(reading->sink)[1], "q\"\xC3\xA9");
}

TEST(KinetoDamage, TimesThatAreNoNumbersDropTheRecord) {
  for (const char* time : {"NaN", "Infinity", "-inf", "\"soon\"", "null", "[1]", "1e300"}) {
    SCOPED_TRACE(time);
    const auto reading = ReadText(ThreeKernels(Kernel("x", time, "1")));
    ASSERT_TRUE(reading->whole()) << reading->why();
    EXPECT_EQ(KernelNames(reading->sink), (Names{"first", "last"}));
    EXPECT_EQ(reading->sink.CountOf(DropReason::kBadNumber), 1);
  }
}

TEST(KinetoDamage, ImpossibleTimesAreDroppedUnderTheirReason) {
  const auto reason_of = [](const char* ts, const char* dur) {
    const auto reading = ReadText(ThreeKernels(Kernel("x", ts, dur)));
    EXPECT_EQ(reading->sink.devices.size(), 2U);
    return reading->sink.drops.empty() ? std::string_view() : Name(reading->sink.drops[0].first);
  };
  EXPECT_EQ(reason_of("5", "-1"), "negative_duration");
  EXPECT_EQ(reason_of("5", "1e12"), "absurd_duration");
  EXPECT_EQ(reason_of("-5", "1"), "outside_window");
  EXPECT_EQ(reason_of("0", "0"), "zero_time");
  EXPECT_EQ(reason_of("9e15", "1"), "bad_number");
}

TEST(KinetoDamage, ZeroLengthActivitiesAreKept) {
  EXPECT_EQ(ReadText(ThreeKernels(Kernel("x", "5", "0")))->sink.devices.size(), 3U);
}

TEST(KinetoDamage, TrailingCommasPass) {
  const auto reading = ReadText(Trace(Kernel("k", "1", "1", ",") + ",,", "", ","));
  ASSERT_TRUE(reading->whole()) << reading->why();
  EXPECT_EQ(reading->sink.devices.size(), 1U);
}

TEST(KinetoDamage, UnknownPhasesAreCounted) {
  const auto reading = ReadText(ThreeKernels(R"({"ph":"Q","name":"?","ts":1})"));
  EXPECT_EQ(reading->sink.CountOf(DropReason::kUnknownPhase), 1);
}

TEST(KinetoDamage, AnEventLargerThanTheWindowMayGrowIsSkippedAndCounted) {
  ReadOptions options;
  options.window_bytes = 1024;
  const std::string huge = R"({"ph":"X","cat":"cpu_op","name":"x","ts":1,"dur":1,"args":{"Input Dims":[")" +
                           std::string(100'000, '{') + R"("]}})";
  const auto reading = ReadText(ThreeKernels(huge), options);
  ASSERT_TRUE(reading->whole()) << reading->why();
  EXPECT_EQ(KernelNames(reading->sink), (Names{"first", "last"}));
  EXPECT_EQ(reading->sink.CountOf(DropReason::kOversizeEvent), 1);
}

TEST(KinetoDamage, AnEventOfManyWindowsWithinTheLimitIsRead) {
  ReadOptions options;
  options.window_bytes = 1024;
  const auto reading = ReadText(ThreeKernels(Kernel(std::string(10'000, 'n'), "2", "1")), options);
  EXPECT_EQ(reading->sink.devices.size(), 3U);
}

TEST(KinetoDamage, EventsBehindAFalseEndAreStillRead) {
  const std::string text = "{\"traceEvents\":[" + Kernel("a", "1", "1") + "]}," + Kernel("b", "2", "1") + "]}";
  const auto reading = ReadText(text);
  ASSERT_TRUE(reading->partial());
  EXPECT_EQ(KernelNames(reading->sink), (Names{"a", "b"}));
}

TEST(KinetoDamage, BrokenMetadataDoesNotHideTheEvents) {
  const auto reading = ReadText(Trace(Kernel("k", "1", "1"), R"("traceName":"a"b","schemaVersion":1,)"));
  ASSERT_TRUE(reading->partial());
  EXPECT_EQ(reading->sink.devices.size(), 1U);
  EXPECT_EQ(reading->sink.context().schema_version, "1");
}

TEST(KinetoDamage, BrokenMetadataBehindTheEventsDoesNotHideTheBase) {
  const auto reading =
      ReadText(Trace(Kernel("k", "1", "1"), "", R"(,"traceName":"a"b","baseTimeNanoseconds":1711964646000000000)"));
  ASSERT_TRUE(reading->partial());
  EXPECT_EQ(reading->sink.context().base_unix_ns, 1711964646000000000);
}

std::string ManyKernels(int count) {
  std::string events;
  for (int i = 0; i < count; ++i) {
    events += Kernel("kernel\\\"" + std::to_string(i), std::to_string(i + 1) + ".125", "0.5",
                     R"(,"grid":[1,2,3],"block":[1,1,1])");
    events += i + 1 < count ? ",\n  " : "";
  }
  return Trace(events, R"("schemaVersion": 1,)", R"(, "traceName": "x", "baseTimeNanoseconds": 1711964646000000000)");
}

// Allocating the usual window thousands of times would take most of a test.
ReadOptions SmallWindow() {
  ReadOptions options;
  options.window_bytes = 1024;
  return options;
}

TEST(KinetoDamage, EveryCutYieldsAPrefixOfTheRecordsAndIsReported) {
  const std::string text = ManyKernels(12);
  const size_t events_begin = text.find('[');
  const auto whole = ReadText(text);
  ASSERT_TRUE(whole->whole());
  for (size_t cut = 1; cut < text.size(); ++cut) {
    SCOPED_TRACE(cut);
    const auto reading = ReadText(std::string_view(text).substr(0, cut), SmallWindow());
    if (reading->result.ok()) {
      EXPECT_TRUE(reading->partial());
      EXPECT_EQ(reading->sink.CountOf(DropReason::kTruncatedTail), 1);
      EXPECT_LE(reading->result->damage_offset, static_cast<int64_t>(cut));
    } else {
      EXPECT_EQ(reading->result.status().code(), absl::StatusCode::kInvalidArgument);
      EXPECT_TRUE(cut <= events_begin || reading->sink.devices.empty());
    }
    EXPECT_TRUE(whole->sink.Dump().starts_with(reading->sink.Dump()));
  }
}

TEST(KinetoDamage, AllCompleteEventsBeforeACutAreSalvaged) {
  const std::string text = ManyKernels(12);
  const size_t cut = text.find("kernel\\\"7");
  const auto reading = ReadText(std::string_view(text).substr(0, cut));
  EXPECT_EQ(reading->sink.devices.size(), 7U);
}

TEST(KinetoDamage, WindowsAndPiecesOfAnySizeGiveTheSameRecords) {
  const std::string text = ManyKernels(40);
  const std::string whole = ReadText(text)->sink.Dump();
  for (const int64_t window : {1, 64, 100, 333, 4096, 1 << 20}) {
    for (const size_t chunk : {size_t{1}, size_t{7}, size_t{4096}}) {
      ReadOptions options;
      options.window_bytes = window;
      const auto reading = ReadText(text, options, chunk);
      ASSERT_TRUE(reading->whole()) << reading->why();
      EXPECT_EQ(reading->sink.Dump(), whole) << window << " " << chunk;
    }
  }
}

TEST(KinetoDamage, WindowsOfAnySizeResyncAtTheSamePlace) {
  const std::string text = ThreeKernels(Kernel(R"(a"b)", "2", "1") + ",\n\n\n    " + Kernel("c", "2", "1"));
  for (int64_t window = 256; window < 768; ++window) {
    ReadOptions options;
    options.window_bytes = window;
    EXPECT_EQ(KernelNames(ReadText(text, options)->sink), (Names{"first", "c", "last"})) << window;
  }
}

TEST(KinetoDamage, ReplacingAnyByteByAQuoteOrBraceLosesAtMostTwoEvents) {
  const std::string text = ManyKernels(8);
  const size_t begin = text.find('[');
  const size_t end = text.rfind(']');
  for (const char bad : {'"', '{', '}', '\\', ',', '\0'}) {
    for (size_t at = begin + 1; at < end; ++at) {
      std::string damaged = text;
      damaged[at] = bad;
      const auto reading = ReadText(damaged, SmallWindow());
      ASSERT_TRUE(reading->result.ok()) << at << " " << bad << " " << reading->why();
      ASSERT_GE(reading->sink.devices.size(), 6U) << at << " " << bad;
    }
  }
}

// One gzip member with the text.
std::string Gzip(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(KinetoDamage, GzipGivesTheSameRecordsAsPlainText) {
  const std::string text = ManyKernels(40);
  const auto reading = ReadText(Gzip(text));
  ASSERT_TRUE(reading->whole()) << reading->why();
  EXPECT_EQ(reading->sink.Dump(), ReadText(text)->sink.Dump());
}

TEST(KinetoDamage, ACutGzipMemberIsSalvagedAndCounted) {
  const std::string text = ManyKernels(4000);
  const std::string zipped = Gzip(text);
  const auto whole = ReadText(text);
  const auto reading = ReadText(std::string_view(zipped).substr(0, zipped.size() * 3 / 4));
  ASSERT_TRUE(reading->partial()) << reading->why();
  EXPECT_EQ(reading->sink.CountOf(DropReason::kGzipTruncated), 1);
  EXPECT_GT(reading->sink.devices.size(), 2000U);
  EXPECT_TRUE(whole->sink.Dump().starts_with(reading->sink.Dump()));
  EXPECT_NE(reading->why().find("gzip"), std::string::npos);
}

struct Foreign {
  const char* text;
  const char* says;
};

TEST(KinetoDamage, WhatIsNoTraceIsRefusedWithWhatItIs) {
  for (const Foreign& f : std::vector<Foreign>{
           {"", "holds no trace"},
           {"  \n", "holds no trace"},
           {"hello world", "not JSON"},
           {"{\"schema\":\"1.0.1\",\"nodes\":[{\"id\":1}]}", "no 'traceEvents'"},
           {"{\"schemaVersion\":1", "no 'traceEvents'"},
           {"{\"traceEvents\":[]}", "no readable event"},
           {"[]", "no readable event"},
           {"{}", "holds no trace"},
           {"[1,2,3]", "no readable event"},
           {R"([{"ph":"X","cat":"backward-compute","name":"x","ts":1,"dur":1}])", "category"},
       }) {
    const auto reading = ReadText(f.text);
    EXPECT_EQ(reading->result.status().code(), absl::StatusCode::kInvalidArgument) << f.text;
    EXPECT_NE(reading->why().find(f.says), std::string::npos) << reading->why();
    EXPECT_NE(reading->why().find("test.json"), std::string::npos);
  }
}

TEST(KinetoDamage, AMissingFileIsNotFound) {
  CollectingSink sink;
  const auto result = KinetoFormat().create()->Read("no/such/file.json", ReadOptions(), sink);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace lockstep
