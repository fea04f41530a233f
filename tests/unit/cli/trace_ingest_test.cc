#include "cli/trace_ingest.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(RunName, IsTheFolderThatAllFilesAreIn) {
  EXPECT_EQ(RunNameOf({"job"}, {"job/rank0.json.gz", "job/rank1.json.gz"}), "job");
  EXPECT_EQ(RunNameOf({"job"}, {"job/node0/rank0.json.gz", "job/node1/rank1.json.gz"}), "job");
  EXPECT_EQ(RunNameOf({"job/a.json", "job/b.json"}, {"job/a.json", "job/b.json"}), "job");
}

TEST(RunName, OfOneFileIsItsOwnOnlyIfItWasGivenAsSuch) {
  EXPECT_EQ(RunNameOf({"job/rank0.pt.trace.json.gz"}, {"job/rank0.pt.trace.json.gz"}), "rank0");
  EXPECT_EQ(RunNameOf({"job"}, {"job/rank0.pt.trace.json.gz"}), "job");
}

TEST(RunName, WithoutFilesIsRun) { EXPECT_EQ(RunNameOf({"job"}, {}), "run"); }

}  // namespace
}  // namespace lockstep
