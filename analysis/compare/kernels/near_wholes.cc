#include "analysis/compare/kernels/near_wholes.h"

#include <algorithm>
#include <cmath>
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

}  // namespace

NearWholes::NearWholes(const MatchState& state, const StepOrder& order)
    : state_(state), order_(order), before_(state.before.size()), after_(state.after.size()) {
  before_.wholes = WholesOf(state.before, state.after);
  after_.wholes = WholesOf(state.after, state.before);
}

bool NearWholes::Near(size_t b, size_t a) const {
  constexpr double kNear = 1.5;  // positions: what was fused may have changed places with a neighbour
  const double distance = order_.Distance(b, a);
  return std::isnan(distance) || distance <= kNear || order_.Meet(b, a);
}

bool NearWholes::MayBePartBefore(size_t b) const {
  Answer& answer = before_.is_part[b];
  if (answer != Answer::kUnknown) return answer == Answer::kYes;
  const bool found = std::any_of(after_.wholes.begin(), after_.wholes.end(), [this, b](size_t a) {
    return NamesMore(state_.after.identities[a], state_.before.identities[b]) && Near(b, a);
  });
  answer = found ? Answer::kYes : Answer::kNo;
  return found;
}

bool NearWholes::MayBePartAfter(size_t a) const {
  Answer& answer = after_.is_part[a];
  if (answer != Answer::kUnknown) return answer == Answer::kYes;
  const bool found = std::any_of(before_.wholes.begin(), before_.wholes.end(), [this, a](size_t b) {
    return NamesMore(state_.before.identities[b], state_.after.identities[a]) && Near(b, a);
  });
  answer = found ? Answer::kYes : Answer::kNo;
  return found;
}

bool NearWholes::MayHoldBefore(size_t b) const {
  Answer& answer = before_.holds[b];
  for (size_t a = 0; answer == Answer::kUnknown && a < state_.after.size(); ++a) {
    if (state_.after.matched[a]) continue;
    if (NamesMore(state_.before.identities[b], state_.after.identities[a]) && Near(b, a)) answer = Answer::kYes;
  }
  if (answer == Answer::kUnknown) answer = Answer::kNo;
  return answer == Answer::kYes;
}

bool NearWholes::MayHoldAfter(size_t a) const {
  Answer& answer = after_.holds[a];
  for (size_t b = 0; answer == Answer::kUnknown && b < state_.before.size(); ++b) {
    if (state_.before.matched[b]) continue;
    if (NamesMore(state_.after.identities[a], state_.before.identities[b]) && Near(b, a)) answer = Answer::kYes;
  }
  if (answer == Answer::kUnknown) answer = Answer::kNo;
  return answer == Answer::kYes;
}

}  // namespace lockstep::compare
