// One answer out of the answers on its views: what is kept view by view also answers a question about several.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lockstep {

// Each text is a report (lockstep.report/1) of one view, about the same content of the same run, in the order of
// KnownViews. Gives the report that BuildReport makes of all these views, byte for byte. Nullopt: a text is no such
// report. Pure.
[[nodiscard]] std::optional<std::string> JoinViews(const std::vector<std::string>& texts);

}  // namespace lockstep
