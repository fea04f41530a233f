
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "analysis/model/step_row.h"

namespace lockstep {
namespace {

// Every field different, whatever its name.
IntervalMeasure Filled(int64_t first) {
  IntervalMeasure out;
  int64_t fields[sizeof(IntervalMeasure) / sizeof(int64_t)];
  for (int64_t& field : fields) field = first++;
  std::memcpy(&out, fields, sizeof(out));
  return out;
}

TEST(IntervalMeasure, AddsEveryField) {
  IntervalMeasure sum = Filled(100);
  sum.Add(Filled(0));
  const IntervalMeasure expected = [] {
    IntervalMeasure out;
    int64_t fields[sizeof(IntervalMeasure) / sizeof(int64_t)];
    int64_t value = 100;
    for (int64_t& field : fields) {
      field = value;
      value += 2;
    }
    std::memcpy(&out, fields, sizeof(out));
    return out;
  }();
  EXPECT_EQ(sum, expected);
}

TEST(IntervalMeasure, SubtractingUndoesAdding) {
  IntervalMeasure sum = Filled(3);
  sum.Add(Filled(1'000));
  sum.Subtract(Filled(1'000));
  EXPECT_EQ(sum, Filled(3));
}

TEST(IntervalMeasure, AbsurdLengthsWrapWithoutUndefinedBehaviour) {
  IntervalMeasure sum = Filled(std::numeric_limits<int64_t>::max() - 20);
  sum.Add(Filled(std::numeric_limits<int64_t>::max() - 20));
  sum.Subtract(Filled(std::numeric_limits<int64_t>::max() - 20));
  EXPECT_EQ(sum, Filled(std::numeric_limits<int64_t>::max() - 20));
}

TEST(IntervalMeasure, PartsOfTheSpanAddUp) {
  IntervalMeasure m;
  m.span_ns = 100;
  m.compute_ns = 40;
  m.comm_ns = 30;
  m.overlap_ns = 10;
  m.copy_only_ns = 5;
  m.opaque_only_ns = 3;
  m.idle_host_ns = 20;
  m.idle_launch_ns = 6;
  m.idle_dependency_ns = 4;
  m.idle_other_ns = 2;
  EXPECT_EQ(m.exposed_comm_ns(), 20);
  EXPECT_EQ(m.idle_ns(), 32);
  EXPECT_EQ(m.compute_ns + m.exposed_comm_ns() + m.copy_only_ns + m.opaque_only_ns + m.idle_ns(), m.span_ns);
}

}  // namespace
}  // namespace lockstep
