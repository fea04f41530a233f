#include "bench/simulator/command/simulator_options.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "bench/simulator/command/spec_kinds.h"

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
  for (const char* program : {"decode", "prefill", "train", "batching", "pipeline", "moe"}) {
    const CommandLine command = Parse({"--program", program, "--out", "x"});
    EXPECT_EQ(Name(command.options.program), program) << command.message;
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

TEST(SimulatorOptions, EveryCauseAndDefectOfTheContractIsKnown) {
  for (const char* cause : {"none",
                            "slow_gpu:rank=1,factor=1.2",
                            "slow_kernel:rank=1,kernel=gemm,factor=2",
                            "more_work:rank=1,factor=1.1",
                            "late_host:host=0,us=5,p=0.1",
                            "periodic_pause:rank=1,every=5,ms=3",
                            "data_stall:rank=1,p=0.1,ms=3",
                            "copy_contention:rank=1,gbps=3",
                            "slow_rail:rail=1,factor=2",
                            "stage_imbalance:stage=1,factor=1.2",
                            "expert_imbalance:skew=0.4",
                            "transient:rank=1,from=1,to=2,factor=2",
                            "host_bound:us=9",
                            "slow_launch:us=9",
                            "small_kernels:split=4",
                            "sync:every=2",
                            "alloc:calls=3,us=900",
                            "host_copies:mb=2,count=3",
                            "big_copies:factor=1",
                            "long_attention:factor=3",
                            "kernel_tail:kernel=gemm,p=0.1,factor=3",
                            "outlier:kernel=gemm,count=3,factor=9",
                            "slow_transfer:factor=2",
                            "jitter:rank=1,sigma=0.1",
                            "memory_bound:rank=1,factor=3",
                            "uneven_traffic:rank=1,factor=4",
                            "prefill_mix:every=4,factor=2"}) {
    EXPECT_TRUE(Parse({"--cause", cause, "--out", "x"}).run) << cause;
  }
  for (const char* defect : {"stagger:s=2", "loss:p=0.01", "burst:n=10", "head:n=3", "absurd:p=0.1",
                             "duplicate_rank:rank=1", "missing_rank:rank=1", "no_metadata", "elided_groups", "decoy",
                             "always_last:host=0,us=60", "same_hostname", "opaque_graphs"}) {
    EXPECT_TRUE(Parse({"--defect", defect, "--out", "x"}).run) << defect;
  }
}

TEST(SimulatorOptions, ModelFlagsReachTheirFields) {
  const CommandLine command =
      Parse({"--pp", "2", "--dp", "4", "--ep", "2", "--micro-batches", "6", "--overlap", "off", "--graphs",
             "--all-reduce", "symmetric", "--algorithm", "nvls", "--model-scale", "1.5", "--out", "x"});
  ASSERT_TRUE(command.run) << command.message;
  EXPECT_EQ(command.options.pp, 2);
  EXPECT_EQ(command.options.ep, 2);
  EXPECT_EQ(command.options.micro_batches, 6);
  EXPECT_FALSE(command.options.overlap);
  EXPECT_TRUE(command.options.graphs);
  EXPECT_EQ(command.options.all_reduce, AllReduceKind::kSymmetric);
  EXPECT_EQ(command.options.algorithm, Algorithm::kNvls);
  EXPECT_DOUBLE_EQ(command.options.model_scale, 1.5);
}

TEST(SimulatorOptions, TrainingFlagsReachTheirFields) {
  const CommandLine command = Parse({"--program", "train", "--pp", "2", "--dp", "4", "--interleave", "3",
                                     "--micro-batches", "6", "--shard", "full", "--out", "x"});
  ASSERT_TRUE(command.run) << command.message;
  EXPECT_EQ(command.options.interleave, 3);
  EXPECT_EQ(command.options.shard, Sharding::kFull);
}

TEST(SimulatorOptions, NoiseAndClockKeysReachTheirFields) {
  const CommandLine command =
      Parse({"--noise", "rho=0.9,device_spread=0,end_frac=0.15,kernel_sigma_hi=0.03,length_sigma=0.2", "--clock",
             "offset_ms=5,wander_ppm=0.02,jitter_us=1,tick_ns=1000", "--out", "x"});
  ASSERT_TRUE(command.run) << command.message;
  EXPECT_DOUBLE_EQ(command.options.noise.rho, 0.9);
  EXPECT_DOUBLE_EQ(command.options.noise.device_spread, 0);
  EXPECT_DOUBLE_EQ(command.options.noise.end_frac, 0.15);
  EXPECT_DOUBLE_EQ(command.options.noise.kernel_sigma_hi, 0.03);
  EXPECT_DOUBLE_EQ(command.options.noise.length_sigma, 0.2);
  EXPECT_DOUBLE_EQ(command.options.clock.wander_ppm, 0.02);
  EXPECT_DOUBLE_EQ(command.options.clock.jitter_us, 1);
  EXPECT_DOUBLE_EQ(command.options.clock.tick_ns, 1000);
}

TEST(SimulatorOptions, AStreamNeedsNoFolderButARun) {
  const CommandLine streamed = Parse({"--stream-to", "localhost:1", "--run", "r"});
  EXPECT_TRUE(streamed.run) << streamed.message;
  EXPECT_EQ(streamed.options.stream_to, "localhost:1");
  EXPECT_EQ(streamed.options.run, "r");
  EXPECT_THAT(Parse({"--stream-to", "localhost:1"}).message, HasSubstr("go together"));
  EXPECT_THAT(Parse({"--stream-to", "nowhere", "--run", "r"}).message, HasSubstr("'nowhere' is not HOST:PORT"));
  EXPECT_THAT(Parse({"--run", "r", "--out", "x"}).message, HasSubstr("go together"));
  EXPECT_THAT(Parse({}).message, HasSubstr("name where to write"));
}

TEST(SimulatorOptions, APaceNeedsAStreamAndHasLimits) {
  const CommandLine live = Parse({"--stream-to", "localhost:1", "--run", "r", "--pace", "2", "--batch-seconds", "0.5"});
  EXPECT_TRUE(live.run) << live.message;
  EXPECT_DOUBLE_EQ(live.options.pace, 2);
  EXPECT_DOUBLE_EQ(live.options.batch_seconds, 0.5);
  EXPECT_DOUBLE_EQ(Parse({"--out", "x"}).options.pace, 0);
  EXPECT_THAT(Parse({"--out", "x", "--pace", "1"}).message, HasSubstr("--pace needs --stream-to"));
  EXPECT_THAT(Parse({"--stream-to", "localhost:1", "--run", "r", "--pace", "-1"}).message, HasSubstr("--pace -1"));
  EXPECT_THAT(Parse({"--stream-to", "localhost:1", "--run", "r", "--batch-seconds", "0"}).message,
              HasSubstr("--batch-seconds 0"));
}

struct WrongCommand {
  std::vector<const char*> arguments;
  const char* says;
};
class Mistake : public ::testing::TestWithParam<WrongCommand> {};

TEST_P(Mistake, ExitsWithOneAndNamesTheValue) {
  std::vector<const char*> arguments = GetParam().arguments;
  arguments.insert(arguments.end(), {"--out", "x"});
  const CommandLine command = Parse(arguments);
  EXPECT_FALSE(command.run);
  EXPECT_EQ(command.exit_code, 1);
  EXPECT_THAT(command.message, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Flags, Mistake,
    ::testing::Values(WrongCommand{{"--program", "chess"}, "choose one of decode, prefill, train"},
                      WrongCommand{{"--cause", "gremlin"}, "no such kind"},
                      WrongCommand{{"--cause", "slow_gpu:rank"}, "'rank' should be key=value"},
                      WrongCommand{{"--cause", "slow_gpu:speed=2"}, "no key 'speed'"},
                      WrongCommand{{"--defect", "loss:n=2"}, "there is no key 'n'; it takes p"},
                      WrongCommand{{"--clock", "offset=5"}, "no key 'offset'; it takes offset_ms"},
                      WrongCommand{{"--clock", "offset_ms=abc"}, "offset_ms=abc: must be a number"},
                      WrongCommand{{"--clock", "drift_ppm=-1"}, "drift_ppm=-1"},
                      WrongCommand{{"--noise", "rho=1"}, "rho=1: must be a number from 0 to 0.9999"},
                      WrongCommand{{"--noise", "kernel_sigma_lo=0.1,kernel_sigma_hi=0.01"}, "must not be above"},
                      WrongCommand{{"--overlap", "maybe"}, "choose one of off, on"},
                      WrongCommand{{"--shard", "full", "--dp", "2"}, "need --program train"},
                      WrongCommand{{"--program", "train", "--shard", "full"}, "needs --dp above 1"},
                      WrongCommand{{"--program", "train", "--interleave", "2"}, "needs --pp above 1"},
                      WrongCommand{{"--program", "train", "--pp", "2", "--interleave", "2", "--micro-batches", "3"},
                                   "must be a multiple of --pp 2"},
                      WrongCommand{{"--program", "train", "--pp", "2", "--interleave", "9", "--layers", "16"},
                                   "at least --pp 2 times --interleave 9"},
                      WrongCommand{{"--all-reduce", "abacus"}, "choose one of nccl, custom, symmetric"},
                      WrongCommand{{"--dp", "4", "--ep", "3"}, "--ep 3 must divide --dp 4"},
                      WrongCommand{{"--model-scale", "0"}, "--model-scale 0"},
                      WrongCommand{{"--steps", "0"}, "--steps 0"}, WrongCommand{{"--steps", "many"}, "--steps"},
                      WrongCommand{{"--seed", "-1"}, "--seed"},
                      WrongCommand{{"--dp", "3", "--gpus-per-host", "8"}, "give --tp"},
                      WrongCommand{{"--colour"}, "--colour"}));

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

TEST(SimulatorOptions, HelpExplainsEveryCauseAndDefect) {
  const std::string help = Parse({"--help"}).message;
  for (const auto kinds : {CauseKinds(), DefectKinds()}) {
    for (const SpecKind& kind : kinds) {
      EXPECT_THAT(help, HasSubstr(fmt::format("\n  {}", kind.kind))) << kind.kind;
      EXPECT_FALSE(kind.what.empty()) << kind.kind;
    }
  }
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
