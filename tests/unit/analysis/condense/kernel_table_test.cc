#include "analysis/condense/kernel_table.h"
#include "analysis/model/row_values.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace lockstep {
namespace {

// Adds kernels by name, one after the other in time.
class Filled {
 public:
  explicit Filled(const std::vector<std::string>& largest = {}) : table_(names_, 1'000'000'000, Ids(largest)) {}

  void Add(const std::string& name, int64_t duration_ns, Category category = Category::kCompute, int64_t step = kNoStep,
           std::optional<uint32_t> place = std::nullopt) {
    ActivityRecord kernel;
    kernel.range = range;
    kernel.name = names_.Name(name, drops);
    kernel.start_ns = ++now_;
    kernel.duration_ns = duration_ns;
    KernelClass kind;
    kind.category = category;
    table_.Add(kernel, kind, step, place, drops);
  }
  [[nodiscard]] std::vector<KernelRow> Rows() { return table_.TakeRows(); }
  [[nodiscard]] const std::string& NameOf(const KernelRow& row) const { return names_.NameOf(row.name); }

  NameId range = kNoId;  // around those that are added
  DropCounters drops;

 private:
  std::vector<NameId> Ids(const std::vector<std::string>& names) {
    std::vector<NameId> ids;
    for (const std::string& name : names) ids.push_back(names_.Name(name, drops));
    return ids;
  }

  FileInterner names_;
  KernelTable table_;
  int64_t now_ = 0;
};

int64_t InstancesOf(const KernelRow& row) {
  int64_t instances = 0;
  for (const auto& [slice, sketch] : row.slices) instances += sketch.count();
  return instances;
}

TEST(KernelTable, KeysBeyondTheLimitAreOneNamedRestOfEachCategory) {
  Filled table;
  for (size_t i = 0; i < KernelTable::kMaxKeys + 100; ++i) table.Add(fmt::format("kernel_{}", i), 10);
  for (int i = 0; i < 7; ++i) table.Add(fmt::format("nccl_{}", i), 10, Category::kCommunication);
  EXPECT_EQ(table.drops.Of(DropReason::kKeyLimit), 107);
  const std::vector<KernelRow> rows = table.Rows();
  ASSERT_EQ(rows.size(), KernelTable::kMaxKeys + 2);
  const KernelRow& compute = rows[rows.size() - 2];
  const KernelRow& communication = rows[rows.size() - 1];
  EXPECT_TRUE(compute.is_rest && communication.is_rest);
  EXPECT_EQ(table.NameOf(compute), "(rest)");
  EXPECT_EQ(InstancesOf(compute), 100);
  EXPECT_EQ(communication.kind.category, Category::kCommunication);
  EXPECT_EQ(InstancesOf(communication), 7);
}

TEST(KernelTable, TheLargestNamesHaveRowsHoweverLateTheyCome) {
  Filled table({"late"});
  for (size_t i = 0; i < 2 * KernelTable::kMaxKeys; ++i) table.Add(fmt::format("kernel_{}", i), 10);
  table.Add("late", 10);
  const std::vector<KernelRow> rows = table.Rows();
  const auto late =
      std::find_if(rows.begin(), rows.end(), [&](const KernelRow& row) { return table.NameOf(row) == "late"; });
  ASSERT_NE(late, rows.end());
  EXPECT_EQ(InstancesOf(*late), 1);
}

TEST(KernelTable, KeepsTheLongestInstancesOfTheLargestNamesUpToOneInEight) {
  Filled table({"large"});
  for (int64_t i = 0; i < 800; ++i) {
    table.Add("large", 1'000 + (i * 7) % 800, Category::kCompute, i);
    table.Add("small", 1'000 + (i * 7) % 800, Category::kCompute, i);
  }
  for (const KernelRow& row : table.Rows()) {
    const size_t most = table.NameOf(row) == "large" ? 100 : KernelTable::kExemplars;
    ASSERT_EQ(row.longest.size(), most);
    for (size_t i = 0; i < most; ++i) EXPECT_EQ(row.longest[i].duration_ns, 1'799 - static_cast<int64_t>(i));
    for (const Exemplar& exemplar : row.longest) EXPECT_EQ(1'000 + exemplar.step * 7 % 800, exemplar.duration_ns);
  }
}

TEST(KernelTable, KeepsAtMostSixtyFourPlacesOfAKey) {
  Filled table;
  for (uint32_t place = 0; place < 500; ++place) table.Add("gemm", 10, Category::kCompute, 1, place);
  table.Add("gemm", 10, Category::kCompute, 2);
  const std::vector<KernelRow> rows = table.Rows();
  ASSERT_EQ(rows[0].places.size(), 64U);
  EXPECT_EQ(rows[0].places[62], 62U);
  EXPECT_EQ(rows[0].places[63], 499U);
  EXPECT_EQ(InstancesOf(rows[0]), 501);
}

TEST(KernelTable, AKernelKeepsTheRangeThatNearlyAllItsLaunchesAreInsideOf) {
  Filled table;
  table.Add("gemm", 10);  // before the first range
  table.range = 5;
  for (int i = 0; i < 30; ++i) table.Add("gemm", 10);
  for (int i = 0; i < 10; ++i) table.Add("copy", 10);
  table.range = 6;
  for (int i = 0; i < 10; ++i) table.Add("copy", 10);
  const std::vector<KernelRow> rows = table.Rows();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(table.NameOf(rows[0]), "copy");
  EXPECT_EQ(rows[0].range, kNoId) << "half of them in another one";
  EXPECT_EQ(rows[1].range, 5U);
}

}  // namespace
}  // namespace lockstep
