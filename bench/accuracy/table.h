// The accuracy table as people and scripts read it.
#pragma once

#include <string>
#include <vector>

#include "bench/accuracy/rows.h"

#include <nlohmann/json.hpp>

namespace lockstep {

struct ScoredRow {
  FigureRow row;
  Score score;
};

// One paragraph a figure: every claim with its count, its exact 95 % interval and its verdict.
[[nodiscard]] std::string TextOf(const ScoredRow& scored);
[[nodiscard]] nlohmann::ordered_json JsonOf(const std::vector<ScoredRow>& rows, const Plan& plan);
// Missed claims count, and with `strict` those without enough trials as well.
[[nodiscard]] int MissedClaims(const std::vector<ScoredRow>& rows, bool strict);

}  // namespace lockstep
