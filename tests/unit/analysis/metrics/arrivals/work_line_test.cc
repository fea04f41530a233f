#include "analysis/metrics/arrivals/work_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/model/record_scatter.h"

namespace lockstep {
namespace {

using Cover = std::vector<std::pair<int64_t, int64_t>>;

struct Row {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  Cover cover;
};

// One of the tests' units of time is longer than records scatter.
constexpr int64_t kUnitNs = 10'000;
static_assert(kUnitNs > 2 * kRecordScatterNs);

std::vector<WorkAt> LineOf(std::vector<Row> rows) {
  std::vector<CommunicationRow> line;
  for (Row& row : rows) {
    for (auto& [gap, length] : row.cover) {
      gap *= kUnitNs;
      length *= kUnitNs;
    }
    line.push_back({row.start_ns * kUnitNs, row.end_ns * kUnitNs, row.cover});
  }
  std::vector<WorkAt> work = WorkLine(line);
  for (WorkAt& at : work) {
    at.start_ns /= kUnitNs;
    at.end_ns /= kUnitNs;
  }
  return work;
}

TEST(WorkLine, StandsStillWhileNothingRunsBesideCommunication) {
  const std::vector<WorkAt> work = LineOf({{100, 150, {}}, {170, 200, {}}});
  EXPECT_EQ(work[0].start_ns, 0);
  EXPECT_EQ(work[0].end_ns, 0);
  EXPECT_TRUE(work[0].joined);
  EXPECT_EQ(work[1].start_ns, 20);
  EXPECT_FALSE(work[1].stands);
}

TEST(WorkLine, GoesOnBesideCommunicationThatComputeOutlasts) {
  const std::vector<WorkAt> work = LineOf({{100, 150, {{0, 50}}}, {170, 200, {}}});
  EXPECT_EQ(work[0].end_ns, 50);
  EXPECT_FALSE(work[0].joined);
  EXPECT_EQ(work[1].start_ns, 70);
}

TEST(WorkLine, AGapOfTheHostBesideCommunicationIsOwnTime) {
  // Compute stops at 120 and goes on at 130, while the communication lasts until 150.
  const std::vector<WorkAt> work = LineOf({{100, 150, {{0, 20}, {10, 20}}}});
  EXPECT_EQ(work[0].end_ns, 50);
  EXPECT_FALSE(work[0].joined);
}

TEST(WorkLine, WaitsForTheLastOfSeveralThatEndInOneIdleStretch) {
  // The second ends at 140, while the first, beside which compute goes on at 145, is still under way.
  const std::vector<WorkAt> work = LineOf({{100, 200, {{0, 10}, {35, 55}}}, {105, 140, {{0, 5}}}});
  EXPECT_TRUE(work[1].joined);
  EXPECT_FALSE(work[0].joined);
  EXPECT_EQ(work[1].end_ns, 10);
  EXPECT_EQ(work[0].end_ns, 10 + 5 + 55);
}

TEST(WorkLine, TellsThatTheWorkStoodStillAtAStart) {
  const std::vector<WorkAt> work = LineOf({{100, 150, {}}, {130, 160, {}}});
  EXPECT_TRUE(work[1].stands);
  EXPECT_EQ(work[1].start_ns, 0);
  EXPECT_FALSE(work[0].joined);  // it stood still for longer
  EXPECT_TRUE(work[1].joined);
}

TEST(WorkLine, ARecordThatShowsComputeAFewMicrosecondsBeforeTheEndItWaitedForJoinsThatEnd) {
  const Cover cover = {{98'000, 2'000}};
  const std::vector<WorkAt> work = WorkLine({{100'000, 200'000, cover}, {300'000, 400'000, {}}});
  EXPECT_TRUE(work[0].joined);
  EXPECT_EQ(work[0].end_ns, 2'000);
  EXPECT_EQ(work[1].start_ns, 102'000);
}

TEST(WorkLine, DamagedComputeBesideARowIsNone) {
  const Cover absurd = {{INT64_MAX, 1}, {-5, INT64_MAX}};
  const Cover beyond = {{10, INT64_MAX}};
  const std::vector<WorkAt> work = WorkLine({{100'000, 200'000, absurd}, {300'000, 400'000, beyond}});
  EXPECT_EQ(work[0].end_ns, 0);
  EXPECT_TRUE(work[0].joined);
  EXPECT_FALSE(work[1].joined);  // to its end
}

// The definition, unit by unit.
std::vector<WorkAt> NaiveLine(const std::vector<Row>& rows) {
  constexpr int64_t kLast = 400;
  std::vector<bool> under_way(kLast), compute(kLast), stands(kLast);
  std::vector<bool> end(kLast + 1);
  for (const Row& row : rows) {
    for (int64_t t = row.start_ns; t < row.end_ns; ++t) under_way[static_cast<size_t>(t)] = true;
    if (row.end_ns > row.start_ns) end[static_cast<size_t>(row.end_ns)] = true;
    int64_t at = row.start_ns;
    for (const auto& [gap, length] : row.cover) {
      at += gap;
      for (int64_t t = at; t < at + length; ++t) compute[static_cast<size_t>(t)] = true;
      at += length;
    }
  }
  for (size_t t = 0; t < kLast; ++t) {
    if (!under_way[t] || compute[t]) continue;
    size_t stop = t;
    while (stop < kLast && under_way[stop] && !compute[stop]) ++stop;
    size_t last = t;
    for (size_t e = t + 1; e <= stop; ++e) last = end[e] ? e : last;
    for (size_t s = t; s < last; ++s) stands[s] = true;
    t = stop;
  }
  const auto done = [&](int64_t until) {
    return std::count(stands.begin() + rows.front().start_ns, stands.begin() + until, false);
  };
  std::vector<WorkAt> out;
  for (const Row& row : rows) {
    WorkAt work{.start_ns = done(row.start_ns), .end_ns = done(row.end_ns)};
    int64_t from = row.start_ns;
    while (from > 0 && stands[static_cast<size_t>(from - 1)]) --from;
    const bool inside = stands[static_cast<size_t>(row.start_ns)] && from < row.start_ns;
    work.stands = inside;
    const auto stop = static_cast<size_t>(row.end_ns);
    work.joined = row.end_ns > row.start_ns && stands[stop - 1] && !stands[stop];
    out.push_back(work);
  }
  return out;
}

TEST(WorkLine, IsThatOfItsDefinitionForRandomRows) {
  std::mt19937_64 random(5);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  for (int round = 0; round < 2'000 && !testing::Test::HasFailure(); ++round) {
    // Compute of the rank, of which each row sees what lies beside it.
    std::vector<bool> compute(400);
    for (int64_t t = below(30); t < 400; t += 1 + below(30)) {
      for (const int64_t stop = std::min<int64_t>(400, t + below(40)); t < stop; ++t)
        compute[static_cast<size_t>(t)] = true;
    }
    std::vector<Row> rows;
    int64_t start = below(20);
    for (int64_t n = 1 + below(8); n > 0 && start < 350; --n) {
      Row row{start, std::min<int64_t>(399, start + 1 + below(60)), {}};
      int64_t from = row.start_ns;
      for (int64_t t = row.start_ns; t < row.end_ns; ++t) {
        if (!compute[static_cast<size_t>(t)]) continue;
        int64_t stop = t;
        while (stop < row.end_ns && compute[static_cast<size_t>(stop)]) ++stop;
        row.cover.emplace_back(t - from, stop - t);
        from = t = stop;
      }
      rows.push_back(std::move(row));
      start += below(50);
    }
    const std::vector<WorkAt> expected = NaiveLine(rows);
    const std::vector<WorkAt> seen = LineOf(rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "round " << round << ", row " << i);
      EXPECT_EQ(seen[i].start_ns, expected[i].start_ns);
      EXPECT_EQ(seen[i].end_ns, expected[i].end_ns);
      EXPECT_EQ(seen[i].stands, expected[i].stands);
      EXPECT_EQ(seen[i].joined, expected[i].joined);
    }
  }
}

}  // namespace
}  // namespace lockstep
