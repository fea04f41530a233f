// The eight-rank arrival reference as input: the matching must find the published figures from times and names alone.
#include <gtest/gtest.h>

#include <charconv>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "analysis/metrics/skew/skew.h"
#include "analysis/model/kernel_class.h"
#include "tests/unit/analysis/metrics/matched_run.h"

namespace lockstep {
namespace {

constexpr const char* kReference = "../shared/reference/dlrm_8rank_arrival.csv";

struct ReferenceRow {
  int64_t ordinal = 0;
  int32_t rank = 0;
  std::string kernel;
  int64_t start_us = 0;
  int64_t duration_us = 0;
  int64_t wait_us = 0;
};

int64_t Number(const std::string& text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::vector<std::string> Cells(const std::string& line) {
  std::vector<std::string> out(1);
  for (const char c : line) {
    if (c == ',') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

std::vector<ReferenceRow> ReadReference() {
  std::ifstream in(kReference);
  std::vector<ReferenceRow> out;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    const std::vector<std::string> c = Cells(line);
    out.push_back({Number(c[0]), static_cast<int32_t>(Number(c[1])), c[2], Number(c[3]), Number(c[4]), Number(c[6])});
  }
  return out;
}

class DlrmArrival : public testing::Test {
 protected:
  void SetUp() override {
    rows_ = ReadReference();
    if (rows_.empty()) GTEST_SKIP() << "REFERENCE MISSING: " << kReference << " is not there, nothing was compared";
    RunBuilder run;
    std::map<int32_t, SourceBuilder*> ranks;
    for (const ReferenceRow& row : rows_) {
      SourceBuilder*& source = ranks[row.rank];
      if (source == nullptr) {
        source = &run.AddRank(row.rank).NoHost().World(8);
        source->UnknownGroup();
      }
      source->Collective(0, ClassifyKernel(row.kernel).op, row.start_us * 1000, row.duration_us * 1000, row.kernel);
    }
    matched_ = Match(run);
  }

  std::vector<ReferenceRow> rows_;
  MatchedRun matched_;
};

TEST_F(DlrmArrival, EightInstancesOfAllRanksAreInferredWithConfidence) {
  ASSERT_EQ(matched_.match.instances.size(), 8U);
  for (const MatchedInstance& instance : matched_.match.instances) {
    EXPECT_EQ(instance.members.size(), 8U);
    EXPECT_EQ(instance.kind, MatchKind::kInferred);
    EXPECT_TRUE(instance.usable());
    EXPECT_TRUE(instance.complete);
  }
}

TEST_F(DlrmArrival, UnknownHostsAreConfirmedAsOneDomain) {
  for (int32_t r = 0; r < 8; ++r) {
    EXPECT_EQ(matched_.match.clock.DomainOf(r).value, 0);
    EXPECT_EQ(matched_.match.host_sources[static_cast<size_t>(r)], HostSource::kAssumed);
  }
}

TEST_F(DlrmArrival, SpreadsEndsTransfersAndLastRanksEqualTheReference) {
  const std::vector<int64_t> spread = {7624, 1101, 168, 125, 223, 534, 584, 885};
  const std::vector<int64_t> end_spread = {2, 2, 1, 2, 5, 3, 5, 7};
  const std::vector<int64_t> transfer = {9, 6, 7, 6, 82, 8, 18, 62};
  const std::vector<int32_t> last = {7, 7, 7, 7, 7, 5, 5, 4};
  ASSERT_EQ(matched_.match.instances.size(), 8U);
  for (size_t i = 0; i < 8; ++i) {
    const MatchedInstance& instance = matched_.match.instances[i];
    EXPECT_EQ(instance.index, static_cast<int64_t>(i));
    EXPECT_EQ(instance.spread_ns, spread[i] * 1000) << i;
    EXPECT_EQ(instance.end_spread_ns, end_spread[i] * 1000) << i;
    EXPECT_EQ(instance.transfer_ns, transfer[i] * 1000) << i;
    EXPECT_EQ(instance.last_rank_index, last[i]) << i;
    EXPECT_TRUE(instance.resolvable);
    EXPECT_TRUE(instance.last_certain) << i;
  }
}

TEST_F(DlrmArrival, EveryWaitEqualsTheReference) {
  for (const ReferenceRow& row : rows_) {
    const MatchedInstance& instance = matched_.match.instances[static_cast<size_t>(row.ordinal)];
    EXPECT_EQ(instance.members[static_cast<size_t>(row.rank)].wait_ns, row.wait_us * 1000)
        << "instance " << row.ordinal << " rank " << row.rank;
  }
}

TEST_F(DlrmArrival, TotalWaitsPerRankEqualTheReference) {
  const std::vector<int64_t> waits = {5580, 11125, 3280, 9571, 6370, 6041, 3342, 1534};
  const SkewTotals totals = ComputeSkew(matched_.match, 8, [](const MatchedInstance&) { return true; });
  for (size_t r = 0; r < 8; ++r) EXPECT_EQ(totals.ranks[r].wait_total_ns, waits[r] * 1000) << r;
}

TEST_F(DlrmArrival, ArrivalsServeTheExposureOfEveryRow) {
  for (size_t r = 0; r < 8; ++r) {
    ASSERT_EQ(matched_.match.arrivals[r].size(), 8U);
    for (const ArrivalOfRow& arrival : matched_.match.arrivals[r]) EXPECT_TRUE(arrival.usable && arrival.resolved);
  }
}

}  // namespace
}  // namespace lockstep
