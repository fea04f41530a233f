// Random step times of a run whose true level is known, for the calibration of `lockstep compare`. Pure but for the
// generator that is passed in; the same values for the same seed with the same standard library.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace lockstep::compare {

enum class StepKind { kNormal, kHeavyTailed, kPeriodic, kPauses, kDriftShared, kDriftOwn, kDriftAround, kWaits };
inline constexpr StepKind kStepKinds[] = {StepKind::kNormal,     StepKind::kHeavyTailed, StepKind::kPeriodic,
                                          StepKind::kPauses,     StepKind::kDriftShared, StepKind::kDriftOwn,
                                          StepKind::kDriftAround};

// What both sides of a comparison share.
struct StepShape {
  StepKind kind = StepKind::kNormal;
  size_t steps = 100;
  double rho = 0;      // of the AR(1) noise of the logarithm
  double sd = 0.01;    // of that noise
  double period = 20;  // kPeriodic, kPauses
  double pause = 0.5;  // share of a step that the pause adds
  // Over the run. kDriftShared: both runs have it, from their first step. kDriftOwn, kDriftAround: each run draws its
  // own, of 1 to 5 % up or down, from its first step or around its middle.
  double drift = 0.02;
};

inline double Uniform(std::mt19937_64& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}
inline double Normal(std::mt19937_64& random) { return std::normal_distribution<double>()(random); }

inline std::vector<double> Ar1(std::mt19937_64& random, size_t count, double rho, double sd) {
  std::vector<double> noise(count);
  double state = Normal(random);
  for (double& value : noise) {
    value = sd * state;
    state = rho * state + std::sqrt(1 - rho * rho) * Normal(random);
  }
  return noise;
}

// A shape with what is not fixed drawn.
inline StepShape RandomShape(std::mt19937_64& random, StepKind kind, size_t steps, double rho) {
  StepShape shape{.kind = kind, .steps = steps, .rho = rho};
  shape.sd = std::exp(Uniform(random, std::log(0.003), std::log(0.05)));
  shape.period = std::floor(Uniform(random, 7, 101));
  shape.pause = std::exp(Uniform(random, std::log(0.05), std::log(2.0)));
  shape.drift = Uniform(random, 0.01, 0.05) * (Uniform(random, 0, 1) < 0.5 ? -1 : 1);
  return shape;
}

// Adds what makes the kind to the logarithms of a run.
inline void AddKind(std::mt19937_64& random, const StepShape& shape, std::vector<double>& logs) {
  const double phase = std::floor(Uniform(random, 0, shape.period));
  double next = Uniform(random, 0, shape.period);
  double drift = shape.drift;
  if (shape.kind == StepKind::kDriftOwn || shape.kind == StepKind::kDriftAround) {
    drift = Uniform(random, 0.01, 0.05) * (Uniform(random, 0, 1) < 0.5 ? -1 : 1);
  }
  for (size_t t = 0; t < logs.size(); ++t) {
    const auto time = static_cast<double>(t);
    if (shape.kind == StepKind::kHeavyTailed && Uniform(random, 0, 1) < 0.02) {
      logs[t] += std::log1p(Uniform(random, 0.3, 3.0));
    }
    if (shape.kind == StepKind::kPeriodic && std::fmod(time + phase, shape.period) < 1)
      logs[t] += std::log1p(shape.pause);
    if (shape.kind == StepKind::kPauses && time >= next) {  // pauses of a garbage collector: not quite regular
      logs[t] += std::log1p(shape.pause * Uniform(random, 0.5, 1.5));
      next = time + shape.period * Uniform(random, 0.8, 1.2);
    }
    if (shape.kind == StepKind::kDriftShared || shape.kind == StepKind::kDriftOwn) {
      logs[t] += drift * time / static_cast<double>(logs.size());
    }
    if (shape.kind == StepKind::kDriftAround) logs[t] += drift * (time / static_cast<double>(logs.size()) - 0.5);
  }
}

// In ns; the level of the code is `level` ns at the first step.
inline std::vector<double> RandomSteps(std::mt19937_64& random, const StepShape& shape, double level) {
  std::vector<double> values = Ar1(random, shape.steps, shape.rho, shape.sd);
  AddKind(random, shape, values);
  for (double& value : values) value = std::round(level * std::exp(value));
  if (shape.kind != StepKind::kWaits) return values;
  for (double& value : values) {  // no wait in most steps, else up to a tenth of a step
    const double wait = Uniform(random, -0.2, 0.1);
    value = wait > 0 ? std::round(wait * value) : 0;
  }
  return values;
}

}  // namespace lockstep::compare
