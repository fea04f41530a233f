#include "bench/simulator/command/spec_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "platform/command_line/help_text.h"

namespace lockstep {
namespace {

constexpr size_t kWhatColumn = 36;

// In this order: of one place, of all ranks unless one is named, others.
constexpr std::array kCauseKinds = {
    SpecKind{"none", "", "no cause"},
    SpecKind{"slow_gpu", "rank factor", "all compute kernels of a rank take FACTOR times as long (1.1)"},
    SpecKind{"slow_kernel", "rank kernel factor",
             "one kernel of a rank takes FACTOR times as long (1.5); KERNEL is a part of its name"},
    SpecKind{"more_work", "rank factor", "a rank has FACTOR times the work (1.2)"},
    SpecKind{"late_host", "rank host us p",
             "the host pauses for US microseconds (300) before a launch, with probability P (0.02); HOST instead of "
             "RANK means all ranks of a host"},
    SpecKind{"periodic_pause", "rank every ms", "the host pauses for MS milliseconds (20) every EVERY steps (10)"},
    SpecKind{"data_stall", "rank p ms",
             "the host waits for data for MS milliseconds (20) in a step, with probability P (0.1)"},
    SpecKind{"copy_contention", "rank gbps", "copies of a rank run at GBPS gigabytes a second (5 instead of 50)"},
    SpecKind{"slow_rail", "rail factor",
             "transfers of the GPUs at one place of every host take FACTOR times as long (2)"},
    SpecKind{"stage_imbalance", "stage factor", "a pipeline stage has FACTOR times the work (1.2)"},
    SpecKind{"expert_imbalance", "skew", "one place of the expert-parallel groups has 1 + SKEW times the tokens (0.5)"},
    SpecKind{"transient", "rank from to factor",
             "a rank is slow by FACTOR (1.3) from step FROM (0) until before step TO (FROM + 10)"},
    SpecKind{"host_bound", "rank us", "every launch is preceded by US microseconds of host work (60)"},
    SpecKind{"slow_launch", "rank us", "every launch call takes US microseconds longer (40)"},
    SpecKind{"small_kernels", "rank split",
             "norms, rotary embeddings, activations and elementwise kernels are split into SPLIT kernels (20)"},
    SpecKind{"sync", "rank every", "cudaStreamSynchronize after every EVERY-th layer (1)"},
    SpecKind{"alloc", "rank calls us",
             "CALLS calls of cudaMalloc and cudaFree in a step (6), of US microseconds each on average (800)"},
    SpecKind{"host_copies", "rank mb count", "COUNT copies of MB megabytes to pageable host memory in a step (2 of 1)"},
    SpecKind{"big_copies", "rank factor",
             "copies on the device, together FACTOR times the compute time of a step (0.5)"},
    SpecKind{"long_attention", "rank factor", "attention kernels take FACTOR times as long (8)"},
    SpecKind{"kernel_tail", "rank kernel p factor",
             "a share P (0.05) of the instances of a kernel takes FACTOR times as long (4)"},
    SpecKind{"outlier", "rank kernel count factor",
             "COUNT instances of a kernel in the run (5) take FACTOR times as long (200)"},
    SpecKind{"jitter", "rank sigma",
             "the kernels of a rank between two collectives vary together, by a relative SIGMA (0.2)"},
    SpecKind{"memory_bound", "rank factor",
             "norms, rotary embeddings, activations and elementwise kernels take FACTOR times as long (6)"},
    SpecKind{"slow_transfer", "factor", "all collectives and transfers take FACTOR times as long (8)"},
    SpecKind{"prefill_mix", "every factor",
             "decode and batching: every EVERY-th step (10) takes in a prompt of FACTOR times 2048 tokens (1)"},
    SpecKind{"uneven_traffic", "rank factor",
             "a rank and the replicas that it exchanges gradients with send FACTOR times as much (3)"},
};
constexpr size_t kFirstOfAllRanks = 12;
constexpr size_t kFirstOfOthers = 24;
static_assert(kCauseKinds[kFirstOfAllRanks].kind == "host_bound" &&
              kCauseKinds[kFirstOfOthers].kind == "slow_transfer");

constexpr std::array kDefectKinds = {
    SpecKind{"stagger", "s", "each capture begins later or ends earlier by up to S seconds (2)"},
    SpecKind{"loss", "p", "each device record is lost with probability P (0.01)"},
    SpecKind{"burst", "n", "one rank loses N device records in a row (1000); may be given several times"},
    SpecKind{"head", "n", "each rank loses its first device records, up to N (100)"},
    SpecKind{"absurd", "p", "device records have impossible times, with probability P (0.001)"},
    SpecKind{"duplicate_rank", "rank", "a second trace claims to be of this rank"},
    SpecKind{"missing_rank", "rank", "there is no trace of this rank"},
    SpecKind{"no_metadata", "", "the same as --ids names"},
    SpecKind{"elided_groups", "", "Kineto: member lists of more than 30 ranks are truncated"},
    SpecKind{"decoy", "", "a second job runs the same program at the same time and shares no collective"},
    SpecKind{"always_last", "host us", "the collectives of a host start US microseconds late (60)"},
    SpecKind{"same_hostname", "", "the second host has the name of the first one"},
    SpecKind{"opaque_graphs", "", "nsys: a graph launch is one record instead of its kernels"},
};

constexpr std::array kClockKeys = {
    SpecKind{"offset_ms", "", "offset of each host"},
    SpecKind{"drift_ppm", "", "rate error of each host"},
    SpecKind{"bias_us", "", "offset of each device within its host"},
    SpecKind{"step_us", "", "size of one clock step of one host during the run"},
    SpecKind{"wander_ppm", "", "random walk of the rate, per 0.1 s"},
    SpecKind{"jitter_us", "", "of each record (0.3 where any clock differs)"},
    SpecKind{"tick_ns", "", "resolution of the clocks (32)"},
};

constexpr std::array kNoiseKeys = {
    SpecKind{"device_spread", "", "permanent differences between devices (0.004)"},
    SpecKind{"kernel_sigma_lo", "", "least variation of a kernel's duration (0.002)"},
    SpecKind{"kernel_sigma_hi", "", "largest variation of a kernel's duration (0.02)"},
    SpecKind{"rho", "", "correlation of a rank's speed from step to step (0)"},
    SpecKind{"rho_sigma", "", "size of that slow variation (0.002)"},
    SpecKind{"transfer_sigma", "", "variation of transfers (0.02)"},
    SpecKind{"end_frac", "", "spread of the ends of a collective, as a share of its transfer (0.001)"},
    SpecKind{"end_jitter_us", "", "random spread of these ends (1)"},
    SpecKind{"length_sigma", "", "variation of the tokens of a step between data-parallel replicas (0)"},
};

// "late_host:rank=,us="
std::string FormOf(const SpecKind& kind) {
  std::string form(kind.kind);
  std::string_view keys = kind.keys;
  for (char separator = ':'; !keys.empty(); separator = ',') {
    const std::string_view key = keys.substr(0, keys.find(' '));
    keys.remove_prefix(std::min(keys.size(), key.size() + 1));
    form += fmt::format("{}{}=", separator, key);
  }
  return form;
}

std::string ListOf(std::string_view title, std::span<const SpecKind> kinds, int width) {
  std::string text = fmt::format("{}:\n", title);
  for (const SpecKind& kind : kinds) text += HelpEntry(FormOf(kind), kind.what, kWhatColumn, width);
  return text + "\n";
}

}  // namespace

std::span<const SpecKind> CauseKinds() { return kCauseKinds; }
std::span<const SpecKind> DefectKinds() { return kDefectKinds; }

std::string HelpOfSpecs(int width) {
  const std::span<const SpecKind> causes(kCauseKinds);
  return ListOf("Causes of one place (a rank, host, rail or stage that is not named is drawn)",
                causes.first(kFirstOfAllRanks), width) +
         ListOf("Causes of all ranks, or of one if rank= is given",
                causes.subspan(kFirstOfAllRanks, kFirstOfOthers - kFirstOfAllRanks), width) +
         ListOf("Other causes", causes.subspan(kFirstOfOthers), width) +
         ListOf("Defects of the traces", kDefectKinds, width) +
         ListOf("Keys of --clock: largest size of what is drawn for each clock (default: all clocks are right)",
                kClockKeys, width) +
         ListOf("Keys of --noise: relative standard deviations, except end_jitter_us", kNoiseKeys, width);
}

}  // namespace lockstep
