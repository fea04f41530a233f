// A temporary nsys file and what the reader makes of it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "agent/readers/nsys/nsys_format.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/nsys_builder.h"

namespace lockstep {

inline constexpr int64_t kEpoch = 1'700'000'000'000'000'000;

class NsysTest : public testing::Test {
 protected:
  NsysTest() { std::filesystem::create_directories(dir_); }
  ~NsysTest() override { std::filesystem::remove_all(dir_); }

  [[nodiscard]] std::string Path(const std::string& name) const { return dir_ + "/" + name; }

  // A builder with the tables that every export has, ten seconds long.
  [[nodiscard]] NsysBuilder File(NsysSchema schema = NsysSchema::k3_28, const std::string& name = "file.sqlite") const {
    NsysBuilder builder(Path(name), schema);
    builder.Session(kEpoch, 10'000'000'000);
    return builder;
  }

  // Reads into sink_; the outcome is in result_.
  void Read(NsysBuilder& builder, const ReadOptions& options = {}) {
    builder.Finish();
    ReadPath(builder.path(), options);
    ASSERT_TRUE(status_.ok()) << status_.message();
  }
  void ReadPath(const std::string& path, const ReadOptions& options = {}) {
    const auto read = NsysFormat().create()->Read(path, options, sink_);
    status_ = read.status();
    if (read.ok()) result_ = *read;
  }

  [[nodiscard]] std::string Name(NameId id) const { return std::string(sink_.NameOf(id)); }
  [[nodiscard]] const CollectiveMeta& Meta(const HostRecord& record) const { return sink_.metas.at(record.meta); }
  [[nodiscard]] std::string Diagnostics() {
    std::string all;
    for (const std::string& line : sink_.context().diagnostics) all += line + "\n";
    return all;
  }

  CollectingSink sink_;
  ReadResult result_;
  absl::Status status_;

 private:
  const std::string dir_ = testing::TempDir() + "lockstep_nsys_" +
                           testing::UnitTest::GetInstance()->current_test_info()->test_suite_name() + "_" +
                           testing::UnitTest::GetInstance()->current_test_info()->name();
};

}  // namespace lockstep
