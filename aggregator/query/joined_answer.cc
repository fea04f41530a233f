#include "aggregator/query/joined_answer.h"

#include <algorithm>
#include <utility>

#include "analysis/report/json.h"
#include "analysis/report/report.h"

namespace lockstep {
namespace {

constexpr const char* kNotices = "notices";

bool IsReport(const Json& report) {
  return report.is_object() && report.contains("schema") && report.contains("run") && report.contains(kNotices) &&
         report.at(kNotices).is_array();
}

// What the other one has beside what every report has; of the notices those that are not there yet.
void Append(Json other, Json& report) {
  Json& notices = report[kNotices];
  for (Json& notice : other[kNotices]) {
    if (std::find(notices.begin(), notices.end(), notice) == notices.end()) notices.push_back(std::move(notice));
  }
  for (auto& [key, value] : other.items()) {
    if (!report.contains(key)) report[key] = std::move(value);
  }
}

}  // namespace

std::optional<std::string> JoinViews(const std::vector<std::string>& texts) {
  Json joined;
  for (const std::string& text : texts) {
    Json report = Json::parse(text, nullptr, false);
    if (!IsReport(report)) return std::nullopt;
    if (joined.is_null()) {
      joined = std::move(report);
    } else {
      Append(std::move(report), joined);
    }
  }
  if (joined.is_null()) return std::nullopt;
  return RenderJson(joined);
}

}  // namespace lockstep
