#include "analysis/export/perfetto/chrome_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/unit/analysis/export/perfetto/random_events.h"

namespace lockstep::perfetto {
namespace {

nlohmann::json JsonOf(const RandomEvents& events) {
  ChromeFormat format;
  nlohmann::json json = nlohmann::json::parse(Written(events, format), nullptr, false);
  EXPECT_FALSE(json.is_discarded());
  return json;
}

// Microseconds with three decimals are ns without loss up to 2^53 of them.
int64_t Ns(const nlohmann::json& microseconds) { return std::llround(microseconds.get<double>() * 1000); }

TEST(ChromeFormat, SlicesOfAThreadNest) {
  const nlohmann::json json = JsonOf(DrawEvents(21, 3, 40, 200));
  std::map<int64_t, std::vector<int64_t>> open;  // ends by thread
  int64_t slices = 0;
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    ++slices;
    const int64_t start = Ns(event.at("ts"));
    const int64_t end = start + Ns(event.at("dur"));
    std::vector<int64_t>& stack = open[event.at("tid").get<int64_t>()];
    while (!stack.empty() && stack.back() <= start) stack.pop_back();
    if (!stack.empty()) {
      EXPECT_LE(end, stack.back());
    }
    stack.push_back(end);
  }
  EXPECT_GT(slices, 700);
}

TEST(ChromeFormat, HasEveryEventToTheNanosecond) {
  const RandomEvents events = DrawEvents(22, 2, 20, 100);
  std::multimap<int64_t, int64_t> expected;
  for (const SliceEvent& event : events.slices) expected.emplace(event.start_ns, event.duration_ns);
  const nlohmann::json json = JsonOf(events);
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    auto [from, to] = expected.equal_range(Ns(event.at("ts")));
    const auto found = std::find_if(from, to, [&](const auto& e) { return e.second == Ns(event.at("dur")); });
    if (found != to) expected.erase(found);
  }
  EXPECT_TRUE(expected.empty());
}

TEST(ChromeFormat, AnyNameIsAJsonText) {
  RandomEvents events = DrawEvents(23, 1, 0, 0);
  const std::string name = "a\"b\\c\n\t\x01\x7f</script>\xE2\x80\xAE" + std::string(1, '\0') + "z";
  events.timeline.names.push_back(name);
  events.timeline.ranks[0].name = name;
  events.timeline.about = {{name, name}};
  events.slices.push_back(
      {.start_ns = 5, .duration_ns = 1, .name = static_cast<uint32_t>(events.timeline.names.size() - 1)});
  const nlohmann::json json = JsonOf(events);
  EXPECT_EQ(json.at("otherData").at(name), name);
  int found = 0;
  for (const auto& event : json.at("traceEvents")) found += event.at("ph") == "X" && event.at("name") == name ? 1 : 0;
  EXPECT_EQ(found, 1);
}

TEST(ChromeFormat, ArrowsHaveTwoEnds) {
  std::map<int64_t, std::string> phases;
  const nlohmann::json json = JsonOf(DrawEvents(24, 4, 40, 0));
  for (const auto& event : json.at("traceEvents")) {
    const std::string phase = event.at("ph");
    if (phase == "s" || phase == "f") phases[event.at("id").get<int64_t>()] += phase;
  }
  EXPECT_GT(phases.size(), 20U);
  for (const auto& [id, both] : phases) EXPECT_EQ(both, "sf") << id;
}

}  // namespace
}  // namespace lockstep::perfetto
