#include "analysis/compare/kernels/near_wholes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "analysis/compare/kernels/part_names.h"

namespace lockstep::compare {
namespace {

// A kernel whose name both sides have is that kernel, and no whole of others.
std::vector<size_t> WholesOf(const MatchSide& side, const MatchSide& others) {
  std::unordered_set<std::string_view> names;
  for (const KernelIdentity& identity : others.identities) names.insert(identity.stem_words);
  std::vector<size_t> wholes;
  for (size_t i = 0; i < side.size(); ++i) {
    const KernelIdentity& identity = side.identities[i];
    if (!side.matched[i] && identity.words.size() > 1 && !names.contains(identity.stem_words)) wholes.push_back(i);
  }
  return wholes;
}

std::vector<size_t> UnmatchedOf(const MatchSide& side) {
  std::vector<size_t> unmatched;
  for (size_t i = 0; i < side.size(); ++i) {
    if (!side.matched[i]) unmatched.push_back(i);
  }
  return unmatched;
}

// Whether the test holds for any of the kernels; asked once.
template <typename Test>
bool Remember(std::optional<bool>& answer, const std::vector<size_t>& kernels, const Test& test) {
  if (!answer) answer = std::any_of(kernels.begin(), kernels.end(), test);
  return *answer;
}

}  // namespace

NearWholes::NearWholes(const MatchState& state, const StepOrder& order)
    : state_(state), order_(order), before_(state.before.size()), after_(state.after.size()) {
  before_.unmatched = UnmatchedOf(state.before);
  after_.unmatched = UnmatchedOf(state.after);
  before_.wholes = WholesOf(state.before, state.after);
  after_.wholes = WholesOf(state.after, state.before);
}

bool NearWholes::Near(size_t b, size_t a) const {
  constexpr double kNear = 1.5;  // positions: what was fused may have changed places with a neighbour
  const double distance = order_.Distance(b, a);
  return std::isnan(distance) || distance <= kNear || order_.Meet(b, a);
}

bool NearWholes::MayBePartBefore(size_t b) const {
  return Remember(before_.is_part[b], after_.wholes, [this, b](size_t a) {
    return NamesMore(state_.after.identities[a], state_.before.identities[b]) && Near(b, a);
  });
}

bool NearWholes::MayBePartAfter(size_t a) const {
  return Remember(after_.is_part[a], before_.wholes, [this, a](size_t b) {
    return NamesMore(state_.before.identities[b], state_.after.identities[a]) && Near(b, a);
  });
}

bool NearWholes::MayHoldBefore(size_t b) const {
  return Remember(before_.holds[b], after_.unmatched, [this, b](size_t a) {
    return !state_.after.matched[a] && NamesMore(state_.before.identities[b], state_.after.identities[a]) && Near(b, a);
  });
}

bool NearWholes::MayHoldAfter(size_t a) const {
  return Remember(after_.holds[a], before_.unmatched, [this, a](size_t b) {
    return !state_.before.matched[b] && NamesMore(state_.after.identities[a], state_.before.identities[b]) &&
           Near(b, a);
  });
}

}  // namespace lockstep::compare
