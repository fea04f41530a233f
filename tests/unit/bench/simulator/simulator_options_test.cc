#include "bench/simulator/simulator_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace lockstep {
namespace {

using ::testing::HasSubstr;

CommandLine Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "lockstep-simulate");
  return ParseCommandLine(static_cast<int>(arguments.size()), arguments.data());
}

TEST(SimulatorOptions, WorldFillsTheHosts) {
  const CommandLine command = Parse({"--tp", "4", "--dp", "2", "--hosts", "2", "--out", "x"});
  ASSERT_TRUE(command.run) << command.message;
  EXPECT_EQ(command.options.world(), 8);
  EXPECT_EQ(command.options.gpus_per_host, 4);
}

TEST(SimulatorOptions, TensorParallelSizeIsWhatTheHostsLeave) {
  const CommandLine command = Parse({"--hosts", "4", "--gpus-per-host", "8", "--dp", "4", "--out", "x"});
  ASSERT_TRUE(command.run) << command.message;
  EXPECT_EQ(command.options.tp, 8);
}

TEST(SimulatorOptions, RanksThatDoNotFillTheHostsAreRefused) {
  const CommandLine command = Parse({"--tp", "6", "--hosts", "2", "--gpus-per-host", "4", "--out", "x"});
  EXPECT_FALSE(command.run);
  EXPECT_EQ(command.exit_code, 1);
  EXPECT_THAT(command.message, HasSubstr("6 ranks do not fill --hosts 2 x --gpus-per-host 4"));
}

TEST(SimulatorOptions, EveryValueOfTheContractIsKnown) {
  for (const char* program : {"decode", "train"}) {
    EXPECT_TRUE(Parse({"--program", program, "--out", "x"}).run) << program;
  }
  for (const char* version : {"2021", "2023", "2024", "2026"}) {
    EXPECT_TRUE(Parse({"--kineto-version", version, "--out", "x"}).run) << version;
  }
  for (const char* schema : {"2.7", "3.0", "3.7", "3.13", "3.25", "3.28"}) {
    EXPECT_TRUE(Parse({"--nsys-schema", schema, "--out", "x"}).run) << schema;
  }
  for (const char* ids : {"full", "groups", "names"}) EXPECT_TRUE(Parse({"--ids", ids, "--out", "x"}).run) << ids;
  for (const char* form : {"kineto", "nsys", "mixed"}) EXPECT_TRUE(Parse({"--format", form, "--out", "x"}).run) << form;
}

struct NotBuilt {
  std::vector<const char*> arguments;
  const char* says;
};
class NotBuiltYet : public ::testing::TestWithParam<NotBuilt> {};

TEST_P(NotBuiltYet, IsToldFromAMistake) {
  std::vector<const char*> arguments = GetParam().arguments;
  arguments.insert(arguments.end(), {"--out", "x"});
  const CommandLine command = Parse(arguments);
  EXPECT_FALSE(command.run);
  EXPECT_EQ(command.exit_code, 1);
  EXPECT_THAT(command.message, HasSubstr("not built yet"));
  EXPECT_THAT(command.message, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Flags, NotBuiltYet,
    ::testing::Values(NotBuilt{{"--program", "moe"}, "moe"}, NotBuilt{{"--program", "pipeline"}, "pipeline"},
                      NotBuilt{{"--cause", "slow_kernel:rank=1,kernel=gemm,factor=2"}, "slow_kernel"},
                      NotBuilt{{"--cause", "transient:rank=1,from=1,to=2,factor=2"}, "transient"},
                      NotBuilt{{"--defect", "stagger:s=2"}, "stagger"},
                      NotBuilt{{"--defect", "no_metadata"}, "no_metadata"}, NotBuilt{{"--pp", "2"}, "--pp"},
                      NotBuilt{{"--ep", "2"}, "--ep"},
                      NotBuilt{{"--stream-to", "localhost:1", "--run", "r"}, "--stream-to"}));

class Mistake : public ::testing::TestWithParam<NotBuilt> {};

TEST_P(Mistake, ExitsWithOneAndNamesTheValue) {
  std::vector<const char*> arguments = GetParam().arguments;
  arguments.insert(arguments.end(), {"--out", "x"});
  const CommandLine command = Parse(arguments);
  EXPECT_FALSE(command.run);
  EXPECT_EQ(command.exit_code, 1);
  EXPECT_THAT(command.message, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(Flags, Mistake,
                         ::testing::Values(NotBuilt{{"--program", "chess"}, "choose one of decode, train"},
                                           NotBuilt{{"--cause", "gremlin"}, "no such kind"},
                                           NotBuilt{{"--cause", "slow_gpu:rank"}, "'rank' should be key=value"},
                                           NotBuilt{{"--cause", "slow_gpu:speed=2"}, "no key 'speed'"},
                                           NotBuilt{{"--clock", "offset=5"}, "no key 'offset'"},
                                           NotBuilt{{"--clock", "offset_ms=abc"}, "'abc' is not a number"},
                                           NotBuilt{{"--clock", "drift_ppm=-1"}, "drift_ppm=-1"},
                                           NotBuilt{{"--steps", "0"}, "--steps 0"},
                                           NotBuilt{{"--steps", "many"}, "--steps"},
                                           NotBuilt{{"--seed", "-1"}, "--seed"},
                                           NotBuilt{{"--dp", "3", "--gpus-per-host", "8"}, "give --tp"},
                                           NotBuilt{{"--colour"}, "--colour"}));

TEST(SimulatorOptions, AFolderMustBeNamed) {
  const CommandLine command = Parse({"--tp", "2"});
  EXPECT_EQ(command.exit_code, 1);
  EXPECT_THAT(command.message, HasSubstr("--out DIR"));
}

TEST(SimulatorOptions, HelpShowsExamplesAndExitsWithZero) {
  const CommandLine command = Parse({"--help"});
  EXPECT_FALSE(command.run);
  EXPECT_EQ(command.exit_code, 0);
  EXPECT_THAT(command.message, HasSubstr("Examples:"));
}

TEST(SimulatorOptions, SpecIsKindAndKeys) {
  const auto spec = ParseSpec("late_host:rank=3,us=300,p=0.02");
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->kind, "late_host");
  EXPECT_EQ(spec->values, (std::map<std::string, std::string>{{"rank", "3"}, {"us", "300"}, {"p", "0.02"}}));
}

TEST(SimulatorOptions, AKeyGivenTwiceIsRefused) { EXPECT_FALSE(ParseSpec("late_host:us=1,us=2").ok()); }

}  // namespace
}  // namespace lockstep
