#include "analysis/metrics/fleet/asked_ranges.h"

#include <gtest/gtest.h>

#include "tests/support/run_builder.h"

namespace lockstep {
namespace {

// Ranges of these (domain, name) in one run, "" = no domain.
AskedRanges Asked(const std::string& nvtx, const std::vector<std::pair<std::string, std::string>>& ranges) {
  RunBuilder builder;
  SourceBuilder& rank = builder.AddRank(0);
  for (const auto& [domain, name] : ranges) {
    RangeRow row;
    row.name = builder.Name(name);
    if (!domain.empty()) row.domain = builder.Name(domain);
    rank.data().ranges.push_back(row);
  }
  builder.Name("late");  // a step whose range has no row
  const BuiltRun built = builder.Build();
  AskedRanges asked = FindAskedRanges(built.run, nvtx);
  asked.names.resize(built.run.names.size());
  return asked;
}

std::vector<bool> NamesOf(const std::string& nvtx, const std::vector<std::pair<std::string, std::string>>& ranges) {
  return Asked(nvtx, ranges).names;
}

TEST(AskedRanges, AreThoseOfTheNameInAnyDomain) {
  EXPECT_EQ(NamesOf("send", {{"", "send"}, {"", "other"}}), (std::vector<bool>{true, false, false}));
  EXPECT_FALSE(Asked("send", {{"A", "send"}, {"B", "send"}}).in_other_domains);
}

TEST(AskedRanges, OfADomainAreNoneWhereTheRunHasNoSuchRangeInIt) {
  EXPECT_EQ(NamesOf("A:send", {{"A", "send"}}), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(NamesOf("send@A", {{"A", "send"}}), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(NamesOf("B:send", {{"A", "send"}}), (std::vector<bool>{false, false, false}));
}

TEST(AskedRanges, InSeveralDomainsCannotBeToldApart) {
  EXPECT_TRUE(Asked("A:send", {{"A", "send"}, {"B", "send"}}).in_other_domains);
  EXPECT_TRUE(Asked("A:send", {{"A", "send"}, {"", "send"}}).in_other_domains);
  EXPECT_FALSE(Asked("A:send", {{"A", "send"}, {"B", "other"}}).in_other_domains);
}

TEST(AskedRanges, BeyondTheLimitOfTheDataAreTakenByTheirName) {
  EXPECT_EQ(NamesOf("A:late", {}), (std::vector<bool>{true}));
}

}  // namespace
}  // namespace lockstep
