// A small cluster of clocks and collectives with known truth, for tests of clock alignment alone: hosts with offset,
// drift, wander and steps, devices with bias and jitter, rings, chains, wrong records. All draws are counter-based.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "analysis/base/executor.h"
#include "analysis/metrics/clock_align/clock_align.h"

namespace lockstep::clock_world {

// One collective of a step that all ranks take part in.
struct Collective {
  double gap_us = 150;     // after the end of the one before
  double base_us = 22;     // from the last arrival to the first end
  double arrival_us = 15;  // spread of arrivals
};

struct World {
  uint64_t seed = 1;
  int32_t hosts = 4;
  int32_t gpus = 2;  // a host
  double offset_ms = 5;
  double drift_ppm = 10;
  double wander_ppm = 0.02;  // change of the rate every 0.1 s
  double bias_us = 2;
  double jitter_us = 0.5;
  int64_t tick_ns = 32;
  int32_t rounds = 1'000;
  std::vector<Collective> step = {Collective{}};  // the collectives of one round
  double transfer_noise = 0.02;
  double end_jitter_us = 1;
  double end_frac = 0.001;       // ends come early by up to this share of the transfer, by place in a ring
  bool random_ends = false;      // ... or by chance
  double hop_us = 0;             // an end comes later by its distance from the last arriver
  bool fixed_positions = false;  // ... or by its place, whoever is last
  bool chain = false;            // sends to the next host and back instead of collectives
  double bad_records = 0;        // share of wrong ones
  double lost_records = 0;
  int32_t late_host = -1;  // always later by late_us
  int32_t late_rank = -1;  // ... in this share of the collectives
  double late_share = 0;
  double late_us = 60;
  int32_t step_host = -1;  // its clock jumps in the middle of the run
  double step_us = 0;
};

// A short one.
inline World WorldOf(uint64_t seed, int32_t hosts, int32_t gpus) {
  World world;
  world.seed = seed;
  world.hosts = hosts;
  world.gpus = gpus;
  world.rounds = 300;
  return world;
}

struct Simulated {
  World world;
  ClockInput input;
  int64_t end_ns = 0;
  int64_t step_at_ns = 0;
  std::vector<int64_t> wrong;  // instances with wrong records, ascending

  // Clock of a rank's device at a true time: local = true + theta.
  [[nodiscard]] int64_t Theta(int32_t rank, int64_t true_ns) const;

  std::vector<int64_t> offset_ns;            // per host
  std::vector<double> drift;                 // per host
  std::vector<std::vector<double>> walk_ns;  // per host, every 0.1 s: wander so far
  std::vector<int64_t> bias_ns;              // per rank
};

class InOrder : public Executor {
 public:
  void ParallelFor(size_t n, const std::function<void(size_t)>& fn) override {
    for (size_t i = 0; i < n; ++i) fn(i);
  }
};

struct Score {
  std::vector<double> errors_us;  // ascending: clock differences of ranks of different hosts, at knots and between
  int64_t covered = 0;            // of them inside the stated 95 % interval
  int64_t band_checks = 0;
  int64_t band_misses = 0;        // truth outside the certified band
  std::vector<double> widths_us;  // of the band, ascending

  [[nodiscard]] double P(double share) const;
  [[nodiscard]] double coverage() const { return static_cast<double>(covered) / static_cast<double>(errors_us.size()); }
  void Add(const Score& other);
};

namespace detail {

inline constexpr int64_t kStartNs = 1'700'000'000'000'000'000;

inline uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

class Draws {
 public:
  explicit Draws(uint64_t seed) : seed_(Mix(seed)) {}
  [[nodiscard]] double Uniform(uint64_t what, uint64_t a, uint64_t b = 0) const {
    return static_cast<double>(Mix(Mix(Mix(seed_ ^ what) ^ a) ^ b) >> 11) * 0x1p-53;
  }
  [[nodiscard]] double Normal(uint64_t what, uint64_t a, uint64_t b = 0) const {
    const double u = std::max(1e-300, Uniform(what * 2 + 1'000, a, b));
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * Uniform(what * 2 + 1'001, a, b));
  }
  [[nodiscard]] double Exponential(uint64_t what, uint64_t a, uint64_t b = 0) const {
    return -std::log(std::max(1e-300, Uniform(what, a, b)));
  }

 private:
  uint64_t seed_;
};

class Maker {
 public:
  explicit Maker(const World& world) : w_(world), draws_(world.seed) { out_.world = world; }

  Simulated Make() {
    MakeClocks();
    if (w_.chain) {
      MakeChain();
    } else {
      MakeCollectives();
    }
    std::sort(out_.wrong.begin(), out_.wrong.end());
    out_.wrong.erase(std::unique(out_.wrong.begin(), out_.wrong.end()), out_.wrong.end());
    return std::move(out_);
  }

 private:
  [[nodiscard]] int32_t Ranks() const { return w_.hosts * w_.gpus; }

  void MakeClocks() {
    double round = 0;
    for (const Collective& c : w_.step) round += c.gap_us + c.base_us + 2 * c.arrival_us;
    if (w_.chain) round *= w_.hosts * 2;
    const double length_ns = 1e3 * round * w_.rounds * 2 + 1e9;
    out_.step_at_ns = kStartNs + std::llround(1e3 * round * w_.rounds * (0.3 + 0.4 * draws_.Uniform(9, 0)));
    for (int32_t h = 0; h < w_.hosts; ++h) {
      const auto host = static_cast<uint64_t>(h);
      out_.offset_ns.push_back(std::llround(1e6 * w_.offset_ms * (2 * draws_.Uniform(1, host) - 1)));
      out_.drift.push_back(1e-6 * std::clamp(w_.drift_ppm * draws_.Normal(2, host), -30.0, 30.0));
      std::vector<double> walk{0};
      double rate = 0;
      for (uint64_t k = 0; static_cast<double>(k) * 1e8 < length_ns; ++k) {
        rate += 1e-6 * w_.wander_ppm * draws_.Normal(3, host, k);
        walk.push_back(walk.back() + rate * 1e8);
      }
      out_.walk_ns.push_back(std::move(walk));
    }
    for (int32_t r = 0; r < Ranks(); ++r) {
      out_.bias_ns.push_back(std::llround(1e3 * w_.bias_us * draws_.Normal(4, static_cast<uint64_t>(r))));
      out_.input.domain.push_back(r / w_.gpus);
      out_.input.tick_ns.push_back(w_.tick_ns);
    }
  }

  // A record of a rank: both its times bear the same jitter.
  void Record(int32_t rank, double start, double end, uint64_t k, bool may_be_lost) {
    const auto r = static_cast<uint64_t>(rank);
    if (may_be_lost && draws_.Uniform(20, r, k) < w_.lost_records) return;
    const auto on_tick = [&](int64_t t) { return t - t % w_.tick_ns; };
    const double shift = 1e3 * w_.jitter_us * draws_.Normal(5, r, k);
    const auto local = [&](double t) {
      const int64_t at = kStartNs + std::llround(t);
      return on_tick(at + out_.Theta(rank, at) + std::llround(shift));
    };
    ClockMember m{rank, local(start), local(end)};
    if (draws_.Uniform(6, r, k) < w_.bad_records) Spoil(m, r, k);
    out_.input.members.push_back(m);
  }

  void Spoil(ClockMember& m, uint64_t r, uint64_t k) {
    const double kind = draws_.Uniform(7, r, k);
    const int64_t by = std::llround(2e6 * (draws_.Uniform(8, r, k) - 0.5));
    if (kind < 0.7) {  // the record of another instance
      m.start_ns += by;
      m.end_ns += by;
    } else if (kind < 0.85) {
      m.start_ns = std::min(m.start_ns + by, m.end_ns);
    } else {
      m.end_ns = std::max(m.start_ns, m.end_ns + by);
    }
    out_.wrong.push_back(static_cast<int64_t>(out_.input.instances.size()));
  }

  void Close(uint32_t first, ClockRelation relation, uint32_t cls) {
    const auto count = static_cast<uint32_t>(out_.input.members.size()) - first;
    if (count >= 2) {
      out_.input.instances.push_back({first, count, relation, cls});
    } else {
      out_.input.members.resize(first);
    }
  }

  // By place in the ring, which begins anywhere; or by chance.
  [[nodiscard]] double EarlyShare(size_t r, uint64_t k) const {
    if (w_.random_ends) return draws_.Uniform(12, r, k);
    const auto n = static_cast<size_t>(Ranks());
    const auto begin = static_cast<size_t>(draws_.Uniform(17, 0) * static_cast<double>(n));
    return 1 - static_cast<double>((r + n - begin) % n) / static_cast<double>(n - 1);
  }

  void MakeCollectives() {
    double now = 0;
    uint64_t k = 0;
    const auto n = static_cast<size_t>(Ranks());
    std::vector<double> start(n);
    for (int32_t round = 0; round < w_.rounds; ++round) {
      for (size_t c = 0; c < w_.step.size(); ++c, ++k) {
        const Collective& kind = w_.step[c];
        double latest = 0;
        size_t last = 0;
        for (size_t r = 0; r < n; ++r) {
          start[r] = now + 1e3 * (kind.gap_us + kind.arrival_us * draws_.Uniform(10, r, k));
          if (static_cast<int32_t>(r) / w_.gpus == w_.late_host) start[r] += 1e3 * w_.late_us;
          const bool late = static_cast<int32_t>(r) == w_.late_rank && draws_.Uniform(18, k) < w_.late_share;
          if (late) start[r] += 1e3 * w_.late_us;
          if (start[r] < latest) continue;
          latest = start[r];
          last = r;
        }
        const double base = 1e3 * kind.base_us * (1 + w_.transfer_noise * draws_.Normal(11, k));
        const auto first = static_cast<uint32_t>(out_.input.members.size());
        for (size_t r = 0; r < n; ++r) {
          const size_t position = w_.fixed_positions ? r : (r + n - last) % n;
          const double end = latest + base + 1e3 * w_.hop_us * static_cast<double>(position) -
                             w_.end_frac * base * EarlyShare(r, k) +
                             1e3 * w_.end_jitter_us * draws_.Exponential(13, r, k);
          Record(static_cast<int32_t>(r), start[r], end, k, true);
          now = std::max(now, end);
        }
        Close(first, ClockRelation::kAllPairs, static_cast<uint32_t>(std::llround(kind.base_us)));
      }
    }
    out_.end_ns = kStartNs + std::llround(now);
  }

  // Forward and backward through the hosts; the receiver posts early, at times late.
  void MakeChain() {
    double now = 0;
    uint64_t k = 0;
    const Collective& kind = w_.step.front();
    for (int32_t round = 0; round < w_.rounds; ++round) {
      for (int32_t hop = 0; hop < 2 * (w_.hosts - 1); ++hop, ++k) {
        const bool forward = hop < w_.hosts - 1;
        const int32_t from = forward ? hop : 2 * (w_.hosts - 1) - hop;
        const int32_t to = forward ? from + 1 : from - 1;
        const double send = now + 1e3 * kind.gap_us;
        const double post = send + 1e3 * (draws_.Uniform(14, k) < 0.2 ? 50 : -50) * draws_.Uniform(15, k);
        const double base = 1e3 * kind.base_us * (1 + w_.transfer_noise * draws_.Normal(11, k));
        const double end = std::max(send, post) + base + 1e3 * w_.end_jitter_us * draws_.Exponential(13, k);
        const double sent = std::max(send, post) + base * draws_.Uniform(16, k) + 1e3;
        const auto first = static_cast<uint32_t>(out_.input.members.size());
        Record(from * w_.gpus, send, sent, 2 * k, false);
        Record(to * w_.gpus, post, end, 2 * k + 1, false);
        Close(first, ClockRelation::kOneWay, forward ? 0 : 1);
        now = end;
      }
    }
    out_.end_ns = kStartNs + std::llround(now);
  }

  const World& w_;
  Draws draws_;
  Simulated out_;
};

}  // namespace detail

inline int64_t Simulated::Theta(int32_t rank, int64_t true_ns) const {
  const auto host = static_cast<size_t>(rank / world.gpus);
  const double at = static_cast<double>(true_ns - detail::kStartNs);
  const auto& walk = walk_ns[host];
  const auto k = std::min(static_cast<size_t>(std::max(0.0, at / 1e8)), walk.size() - 2);
  const double wander = walk[k] + (walk[k + 1] - walk[k]) * (at / 1e8 - static_cast<double>(k));
  int64_t theta = offset_ns[host] + bias_ns[static_cast<size_t>(rank)] + std::llround(drift[host] * at + wander);
  if (static_cast<int32_t>(host) == world.step_host && true_ns >= step_at_ns)
    theta += std::llround(1e3 * world.step_us);
  return theta;
}

inline Simulated Simulate(const World& world) { return detail::Maker(world).Make(); }

inline double Score::P(double share) const {
  if (errors_us.empty()) return 0;
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(errors_us.size())));
  return errors_us[std::clamp<size_t>(rank, 1, errors_us.size()) - 1];
}

inline void Score::Add(const Score& other) {
  errors_us.insert(errors_us.end(), other.errors_us.begin(), other.errors_us.end());
  widths_us.insert(widths_us.end(), other.widths_us.begin(), other.widths_us.end());
  std::sort(errors_us.begin(), errors_us.end());
  std::sort(widths_us.begin(), widths_us.end());
  covered += other.covered;
  band_checks += other.band_checks;
  band_misses += other.band_misses;
}

// `neighbours`: only ranks of hosts next to each other.
inline Score Judge(const Simulated& run, const ClockModel& model, bool neighbours = false) {
  Score out;
  const World& w = run.world;
  for (const ClockKnot& knot : model.ClockOf(model.DomainOf(0)).knots) {
    const int64_t local = knot.t_ns;
    const int64_t at = local - run.Theta(0, local - run.offset_ns[0]);
    if (w.step_host >= 0 && std::abs(at - run.step_at_ns) < 20'000'000) continue;
    const auto correction = [&](int32_t r) { return model.Correction(r, LocalTime{at + run.Theta(r, at)}).ns; };
    for (int32_t a = 0; a < w.hosts * w.gpus; ++a) {
      for (int32_t b = a + 1; b < w.hosts * w.gpus; ++b) {
        const int32_t apart = b / w.gpus - a / w.gpus;
        if (apart == 0 || (neighbours && apart != 1)) continue;
        const auto stated = model.ClockUncertainty(a, b, AlignedTime{local});
        const int64_t error = correction(a) - correction(b) - (run.Theta(a, at) - run.Theta(b, at));
        out.errors_us.push_back(std::abs(static_cast<double>(error)) / 1e3);
        if (stated && std::abs(error) <= stated->ns) ++out.covered;
      }
    }
  }
  for (int32_t r = w.gpus; r < w.hosts * w.gpus; ++r) {
    for (const ClockKnot& knot : model.ClockOf(model.DomainOf(r)).knots) {
      // The true time of the knot, from the clock that it is on.
      int64_t at = knot.t_ns - run.offset_ns[static_cast<size_t>(r / w.gpus)];
      for (int i = 0; i < 4; ++i) at = knot.t_ns - run.Theta(r, at);
      if (w.step_host >= 0 && std::abs(at - run.step_at_ns) < 20'000'000) continue;
      const int64_t own = run.Theta(r, at) - model.BiasOf(r, LocalTime{knot.t_ns});
      const LocalTime there{at + run.Theta(0, at)};
      const int64_t reference = run.Theta(0, at) - model.Correction(0, there).ns;
      ++out.band_checks;
      if (own - reference < knot.lo_ns || own - reference > knot.hi_ns) ++out.band_misses;
      out.widths_us.push_back(static_cast<double>(knot.hi_ns - knot.lo_ns) / 1e3);
    }
  }
  std::sort(out.errors_us.begin(), out.errors_us.end());
  std::sort(out.widths_us.begin(), out.widths_us.end());
  return out;
}

}  // namespace lockstep::clock_world
