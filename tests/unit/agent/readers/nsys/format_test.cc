#include "agent/readers/nsys/nsys_format.h"

#include <gtest/gtest.h>

#include <string>

namespace lockstep {
namespace {

TEST(NsysFormat, ADatabaseIsToldByItsFirstBytes) {
  const std::string head = std::string("SQLite format 3\0", 16) + std::string(100, 'x');
  EXPECT_EQ(NsysFormat().sniff(head, false), 2);
  EXPECT_EQ(NsysFormat().sniff(head.substr(0, 10), false), 0);
  EXPECT_EQ(NsysFormat().sniff("{\"traceEvents\": []}", false), 0);
}

TEST(NsysFormat, AGzippedDatabaseCannotBeRead) {
  EXPECT_EQ(NsysFormat().sniff(std::string("SQLite format 3\0", 16), true), 0);
}

}  // namespace
}  // namespace lockstep
