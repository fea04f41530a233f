#include "analysis/metrics/match/match.h"

namespace lockstep {

std::string_view Name(MatchKind kind) {
  switch (kind) {
    case MatchKind::kId:
      return "id";
    case MatchKind::kOrder:
      return "order";
    case MatchKind::kInferred:
      return "inferred";
    case MatchKind::kAmbiguous:
      return "ambiguous";
    case MatchKind::kNone:
      return "none";
  }
  return "none";
}

}  // namespace lockstep
