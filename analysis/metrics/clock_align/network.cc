#include "analysis/metrics/clock_align/network.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lockstep {
namespace {

constexpr int kReweightRounds = 4;

// One measurement: domains that it measures against a constant of its own.
struct Star {
  std::vector<size_t> domains;  // indices into NetworkClock::domains
  std::vector<double> value;
  std::vector<double> weight;
  std::vector<double> robust;
};

class KnotNetwork {
 public:
  KnotNetwork(size_t domains, size_t reference, std::vector<Star> stars)
      : domains_(domains), reference_(reference), stars_(std::move(stars)) {}

  void Solve() {
    for (int round = 0; round < kReweightRounds; ++round) {
      SolveOnce();
      if (stars_.size() < 2) break;
      for (Star& star : stars_) Reweight(star);
    }
  }
  [[nodiscard]] const std::vector<double>& value() const { return value_; }

  // Scaled up where the measurements disagree by more than they claim.
  [[nodiscard]] SymmetricMatrix Covariance() const {
    SymmetricMatrix out = Cholesky(Normal()).Inverse();
    const double scale = std::max(1.0, Disagreement());
    for (size_t r = 0; r < domains_; ++r) {
      for (size_t c = 0; c < domains_; ++c) out.At(r, c) *= r == reference_ || c == reference_ ? 0 : scale;
    }
    return out;
  }

 private:
  [[nodiscard]] double Weight(const Star& star, size_t i) const { return star.weight[i] * star.robust[i]; }

  [[nodiscard]] double ConstantOf(const Star& star) const {
    double sum = 0;
    double weights = 0;
    for (size_t i = 0; i < star.domains.size(); ++i) {
      sum += Weight(star, i) * (star.value[i] - value_[star.domains[i]]);
      weights += Weight(star, i);
    }
    return weights > 0 ? sum / weights : 0;
  }

  [[nodiscard]] SymmetricMatrix Normal() const {
    SymmetricMatrix normal(domains_);
    for (const Star& star : stars_) {
      double total = 0;
      for (size_t i = 0; i < star.domains.size(); ++i) total += Weight(star, i);
      if (total <= 0) continue;
      for (size_t i = 0; i < star.domains.size(); ++i) {
        normal.At(star.domains[i], star.domains[i]) += Weight(star, i);
        for (size_t k = 0; k < star.domains.size(); ++k) {
          normal.At(star.domains[i], star.domains[k]) -= Weight(star, i) * Weight(star, k) / total;
        }
      }
    }
    double largest = 0;
    for (size_t d = 0; d < domains_; ++d) largest = std::max(largest, normal.At(d, d));
    normal.At(reference_, reference_) += 1e3 * largest + 1e-30;
    return normal;
  }

  void SolveOnce() {
    std::vector<double> right(domains_);
    for (const Star& star : stars_) {
      double sum = 0;
      double weights = 0;
      for (size_t i = 0; i < star.domains.size(); ++i) {
        sum += Weight(star, i) * star.value[i];
        weights += Weight(star, i);
      }
      if (weights <= 0) continue;
      for (size_t i = 0; i < star.domains.size(); ++i) {
        right[star.domains[i]] += Weight(star, i) * (star.value[i] - sum / weights);
      }
    }
    value_ = Cholesky(Normal()).Solve(std::move(right));
    const double origin = value_[reference_];
    for (double& v : value_) v -= origin;
  }

  void Reweight(Star& star) const {
    const double constant = ConstantOf(star);
    for (size_t i = 0; i < star.domains.size(); ++i) {
      const double residual = star.value[i] - value_[star.domains[i]] - constant;
      const double distance = std::abs(residual) * std::sqrt(star.weight[i]);
      star.robust[i] = distance <= 2 ? 1 : 2 / distance;
    }
  }

  [[nodiscard]] double Disagreement() const {
    double sum = 0;
    double freedom = 1 - static_cast<double>(domains_);
    for (const Star& star : stars_) {
      const double constant = ConstantOf(star);
      for (size_t i = 0; i < star.domains.size(); ++i) {
        const double residual = star.value[i] - value_[star.domains[i]] - constant;
        sum += Weight(star, i) * residual * residual;
      }
      freedom += static_cast<double>(star.domains.size()) - 1;
    }
    return freedom >= 1 ? sum / freedom : 1;
  }

  size_t domains_;
  size_t reference_;
  std::vector<Star> stars_;
  std::vector<double> value_;
};

size_t IndexOf(const std::vector<int32_t>& domains, int32_t domain) {
  return static_cast<size_t>(std::lower_bound(domains.begin(), domains.end(), domain) - domains.begin());
}

std::vector<Star> StarsAt(size_t knot, const std::vector<int32_t>& domains, const std::vector<GroupClock>& groups,
                          const std::vector<PairClock>& pairs) {
  std::vector<Star> out;
  for (const GroupClock& group : groups) {
    Star star;
    for (size_t d = 0; d < group.domains.size(); ++d) {
      star.domains.push_back(IndexOf(domains, group.domains[d]));
      star.value.push_back(group.value[d][knot]);
      star.weight.push_back(1 / std::max(group.variance[d][knot], 1.0));
    }
    star.robust.assign(star.domains.size(), 1);
    out.push_back(std::move(star));
  }
  for (const PairClock& pair : pairs) {
    // Half of the pair's variance on either end.
    const double weight = 2 / std::max(pair.variance[knot], 1.0);
    out.push_back(
        {{IndexOf(domains, pair.a), IndexOf(domains, pair.b)}, {pair.value[knot], 0}, {weight, weight}, {1, 1}});
  }
  return out;
}

}  // namespace

double NetworkClock::Sigma(size_t knot, size_t a, size_t b) const {
  const SymmetricMatrix& c = covariance[knot];
  return std::sqrt(std::max(0.0, c.At(a, a) + c.At(b, b) - 2 * c.At(a, b)));
}

NetworkClock SolveNetwork(std::vector<int32_t> domains, int32_t reference, size_t knots,
                          const std::vector<GroupClock>& groups, const std::vector<PairClock>& pairs) {
  NetworkClock out;
  out.domains = std::move(domains);
  for (size_t j = 0; j < knots; ++j) {
    KnotNetwork network(out.domains.size(), IndexOf(out.domains, reference), StarsAt(j, out.domains, groups, pairs));
    network.Solve();
    out.value.push_back(network.value());
    out.covariance.push_back(network.Covariance());
  }
  return out;
}

}  // namespace lockstep
