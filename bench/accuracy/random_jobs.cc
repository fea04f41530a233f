#include "bench/accuracy/random_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <random>
#include <string_view>

namespace lockstep {
namespace {

constexpr int kMostRanks = 64;
constexpr int kMostOfHost = 8;

// Draws that do not depend on the standard library's distributions.
class Draws {
 public:
  explicit Draws(uint64_t seed) : random_(seed) {}

  double Share() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  bool Chance(double p) { return Share() < p; }
  int Of(std::initializer_list<int> all) { return all.begin()[random_() % all.size()]; }
  std::string_view Of(std::initializer_list<std::string_view> all) { return all.begin()[random_() % all.size()]; }
  int Between(int lo, int hi) { return lo + static_cast<int>(random_() % static_cast<uint64_t>(hi - lo + 1)); }
  double Real(double lo, double hi) { return lo + (hi - lo) * Share(); }
  // Small values as often as large ones.
  double Log(double lo, double hi) { return lo * std::pow(hi / lo, Share()); }

 private:
  std::mt19937_64 random_;
};

struct Shape {
  int tp = 1;
  int pp = 1;
  int dp = 1;
  int ep = 1;
  int hosts = 1;
  std::string_view shard = "none";
  bool overlap = true;

  [[nodiscard]] int ranks() const { return tp * pp * dp; }
};

Shape DrawSizes(Draws& draws, std::string_view program) {
  Shape shape;
  if (program == "train") {
    shape.tp = draws.Of({1, 1, 2, 4, 8});
    shape.pp = draws.Of({1, 1, 1, 2, 4});
    shape.dp = draws.Of({1, 2, 4, 8, 16});
  } else if (program == "pipeline") {
    shape.tp = draws.Of({1, 2, 4});
    shape.pp = draws.Of({2, 4});
    shape.dp = draws.Of({1, 1, 2});
  } else if (program == "moe") {
    shape.tp = draws.Of({1, 2});
    shape.dp = draws.Of({4, 8, 16});
    shape.ep = draws.Chance(0.5) ? shape.dp : shape.dp / 2;
  } else {
    shape.tp = draws.Of({2, 4, 8});
    shape.dp = draws.Of({1, 1, 2, 4});
  }
  return shape;
}

Shape DrawShape(Draws& draws, std::string_view program) {
  Shape shape;
  do {
    shape = DrawSizes(draws, program);
  } while (shape.ranks() < 2 || shape.ranks() > kMostRanks);
  std::vector<int> hosts;
  for (int n = 1; n <= shape.ranks(); n *= 2) {
    if (shape.ranks() % n == 0 && shape.ranks() / n <= kMostOfHost) hosts.push_back(n);
  }
  shape.hosts = hosts[static_cast<size_t>(draws.Between(0, static_cast<int>(hosts.size()) - 1))];
  if (program == "train" && shape.dp > 1) {
    shape.shard = draws.Of({"none", "none", "optimizer", "full"});
    shape.overlap = draws.Chance(0.7);
  }
  return shape;
}

std::string NameOf(const Shape& shape) {
  std::string name;
  const auto add = [&](std::string_view part, bool there) {
    if (there) name += (name.empty() ? "" : " ") + std::string(part);
  };
  add("tp", shape.tp > 1);
  add("pp", shape.pp > 1);
  add("dp", shape.dp > 1);
  add("ep", shape.ep > 1);
  add(shape.shard, shape.shard != "none");
  return name;
}

// A part of the excess of a rank: 0.1 % of its time to a third.
double DrawFactor(Draws& draws) { return 1 + draws.Log(0.001, 0.5); }

std::string DrawCause(Draws& draws, const Shape& shape, std::string_view program) {
  const bool trains = program == "train" || program == "moe" || program == "pipeline";
  const auto ms = [&](double lo, double hi) { return draws.Log(lo, hi) * (trains ? 10 : 1); };
  while (true) {
    switch (draws.Between(0, 9)) {
      case 0:
        return fmt::format("slow_gpu:factor={:.4f}", DrawFactor(draws));
      case 1:
        return fmt::format("slow_kernel:factor={:.4f}", 1 + draws.Log(0.01, 1.5));
      case 2:
        return fmt::format("more_work:factor={:.4f}", DrawFactor(draws));
      case 3:
        return fmt::format("late_host:us={:.0f},p={:.2f}", draws.Log(5, 300), draws.Real(0.05, 0.5));
      case 4:
        return fmt::format("periodic_pause:every={},ms={:.2f}", draws.Between(2, 10), ms(0.2, 20));
      case 5:
        return fmt::format("data_stall:p={:.2f},ms={:.2f}", draws.Real(0.1, 1), ms(0.1, 10));
      case 6:
        return fmt::format("copy_contention:gbps={:.1f}", draws.Log(2, 25));
      case 7:
        if (shape.pp == 1) break;
        return fmt::format("stage_imbalance:factor={:.4f}", DrawFactor(draws));
      case 8:
        if (shape.hosts == 1) break;
        return fmt::format("late_host:host={},us={:.0f},p={:.2f}", draws.Between(0, shape.hosts - 1), draws.Log(5, 300),
                           draws.Real(0.05, 0.5));
      default:
        return fmt::format("slow_gpu:rank={},factor={:.4f}", draws.Between(0, shape.ranks() - 1), DrawFactor(draws));
    }
  }
}

void Add(std::vector<std::string>& flags, std::string_view flag, std::string value) {
  flags.emplace_back(flag);
  flags.push_back(std::move(value));
}

void AddTraces(Draws& draws, const Shape& shape, std::vector<std::string>& flags) {
  Add(flags, "--ids", std::string(draws.Of({"full", "groups", "names"})));
  Add(flags, "--format", std::string(draws.Of({"kineto", "kineto", "nsys", "mixed"})));
  if (shape.hosts > 1 || draws.Chance(0.5)) {
    Add(flags, "--clock",
        fmt::format("offset_ms={:.1f},drift_ppm={:.0f},bias_us={:.1f},jitter_us={:.1f}", draws.Log(0.1, 50),
                    draws.Log(0.5, 20), draws.Real(0, 2), draws.Real(0.1, 0.5)));
  }
  if (draws.Chance(0.15)) Add(flags, "--defect", fmt::format("loss:p={:.4f}", draws.Log(0.0005, 0.01)));
  if (draws.Chance(0.15)) Add(flags, "--defect", fmt::format("stagger:s={:.3f}", draws.Log(0.002, 0.05)));
}

void AddNoise(Draws& draws, std::vector<std::string>& flags) {
  std::string noise =
      fmt::format("device_spread={:.4f},end_jitter_us={:.1f}", draws.Log(0.0002, 0.003), draws.Real(0.3, 1));
  if (draws.Chance(0.4)) noise += fmt::format(",rho={:.2f},rho_sigma=0.002", draws.Real(0.3, 0.95));
  Add(flags, "--noise", std::move(noise));
}

std::string DrawProgram(Draws& draws) {
  return std::string(draws.Of({"train", "train", "train", "moe", "pipeline", "decode", "prefill", "batching"}));
}

RandomJob DrawJobOf(Draws& draws, const std::string& program, const Shape& shape) {
  RandomJob job;
  job.program = program;
  job.shape = NameOf(shape);
  const bool trains = job.program == "train" || job.program == "moe" || job.program == "pipeline";
  Add(job.flags, "--program", job.program);
  for (const auto& [flag, size] : {std::pair{"--tp", shape.tp},
                                   {"--pp", shape.pp},
                                   {"--dp", shape.dp},
                                   {"--ep", shape.ep},
                                   {"--hosts", shape.hosts},
                                   {"--layers", shape.pp * draws.Between(1, 32 / shape.pp)},
                                   {"--steps", trains ? draws.Between(20, 40) : draws.Between(40, 80)}}) {
    Add(job.flags, flag, fmt::format("{}", size));
  }
  if (shape.shard != "none") Add(job.flags, "--shard", std::string(shape.shard));
  if (!shape.overlap) Add(job.flags, "--overlap", "off");
  if (job.program == "decode" && draws.Chance(0.3)) job.flags.emplace_back("--graphs");
  Add(job.flags, "--algorithm", std::string(draws.Of({"ring", "ring", "tree", "nvls"})));
  if (!trains) Add(job.flags, "--all-reduce", std::string(draws.Of({"nccl", "nccl", "custom", "symmetric"})));
  AddTraces(draws, shape, job.flags);
  AddNoise(draws, job.flags);
  const double how_many = draws.Share();
  for (int causes = how_many < 0.25 ? 0 : how_many < 0.83 ? 1 : 2; causes > 0; --causes) {
    Add(job.flags, "--cause", DrawCause(draws, shape, job.program));
  }
  return job;
}

}  // namespace

RandomJob DrawJob(uint64_t seed) {
  Draws draws(seed);
  const std::string program = DrawProgram(draws);
  const Shape shape = DrawShape(draws, program);
  return DrawJobOf(draws, program, shape);
}

RandomJob WithoutCauses(RandomJob job) {
  while (true) {
    const auto cause = std::find(job.flags.begin(), job.flags.end(), "--cause");
    if (cause == job.flags.end()) return job;
    job.flags.erase(cause, cause + 2);
  }
}

RandomJob DrawShortJob(uint64_t seed) {
  RandomJob job = DrawJob(seed);
  Draws draws(seed + 1);
  const auto steps = std::find(job.flags.begin(), job.flags.end(), "--steps");
  *std::next(steps) = fmt::format("{:.0f}", draws.Log(1, 15));
  return job;
}

RandomJob DrawJobOfLengths(uint64_t seed) {
  Draws draws(seed);
  std::string program;
  Shape shape;
  while (shape.dp < 2) {
    program = DrawProgram(draws);
    shape = DrawShape(draws, program);
  }
  RandomJob job = DrawJobOf(draws, program, shape);
  const auto noise = std::find(job.flags.begin(), job.flags.end(), "--noise");
  *std::next(noise) += fmt::format(",length_sigma={:.2f}", draws.Log(0.03, 0.2));
  return job;
}

}  // namespace lockstep
