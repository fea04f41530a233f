// RenderCsv: one view as rows. A view that is an object shows its main list: summary the culprits, quality the gates,
// skew the ranks (or instances x members when instances are listed), imbalance quantities x ranks, pace ranks x
// buckets, clock the hosts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "analysis/report/csv/csv_writer.h"
#include "analysis/report/csv/nsys_csv.h"
#include "analysis/report/json.h"
#include "analysis/report/rows/document.h"
#include "analysis/report/views/report_fields.h"

namespace lockstep {
namespace {

// The list that is the rows of a view which is an object.
struct RowsOfObject {
  std::string_view view;
  std::string_view list;
};
constexpr std::array<RowsOfObject, 5> kRowsOfObjects = {{{"summary", "culprits"},
                                                         {"quality", "gates"},
                                                         {"clock", "hosts"},
                                                         {kProfileView, "steps"},
                                                         {kPicturesView, "instances"}}};

const report::Field* FieldNamed(const report::Record& record, std::string_view name) {
  const auto found = std::find_if(record.fields().begin(), record.fields().end(),
                                  [&](const report::Field& field) { return field.name == name; });
  return found == record.fields().end() ? nullptr : &*found;
}

void Remove(std::vector<std::string>& columns, std::string_view name) {
  columns.erase(std::remove(columns.begin(), columns.end(), name), columns.end());
}

std::string SkewCsv(const Json& view) {
  const Json& instances = ListOf(view, "instances");
  if (instances.empty()) return WriteCsv(ColumnsOf(report::SkewOfRank::Fields()), RowsOf(ListOf(view, "ranks")));
  Json rows = Json::array();
  for (const Json& instance : RowsOf(instances)) {
    Json words = instance;
    words.erase("members");
    for (const Json& member : RowsOf(ListOf(instance, "members"))) {
      rows.push_back(words);
      for (const auto& [key, value] : member.items()) rows.back()[key] = value;
    }
  }
  std::vector<std::string> columns = ColumnsOf(report::SkewInstance::Fields());
  Remove(columns, "members");
  for (std::string& column : ColumnsOf(report::SkewMember::Fields())) columns.push_back(std::move(column));
  return WriteCsv(std::move(columns), rows);
}

std::string ImbalanceCsv(const Json& view) {
  Json rows = Json::array();
  for (const Json& quantity : RowsOf(ListOf(view, "quantities"))) {
    Json figures = quantity;
    for (const char* list : {"per_rank", "by_host", "by_group"}) figures.erase(list);
    for (const Json& rank : ListOf(quantity, "per_rank")) {
      Json row = {{"rank", FieldOf(rank, "rank")}, {"value", FieldOf(rank, "value")}};
      for (const auto& [key, value] : figures.items()) row[key] = value;
      rows.push_back(std::move(row));
    }
  }
  std::vector<std::string> columns = {"rank", "value"};
  for (std::string& column : ColumnsOf(report::QuantityRow::Fields())) columns.push_back(std::move(column));
  for (const char* list : {"per_rank", "by_host", "by_group"}) Remove(columns, list);
  std::rotate(columns.begin(), columns.begin() + 2, columns.begin() + 4);  // quantity and unit first
  return WriteCsv(std::move(columns), rows);
}

// Where a bucket of the pace starts; null where the document does not tell, or tells nonsense.
Json BucketStart(const Json& view, size_t bucket) {
  constexpr double kLongest = 1e12;
  const auto start_ns = IntegerOf(FieldOf(view, "start_ns"));
  const auto bucket_ns = RealOf(FieldOf(view, "bucket_ns"));
  if (!start_ns || !bucket_ns || *bucket_ns < 0 || *bucket_ns > kLongest || *start_ns > INT64_MAX / 2) return nullptr;
  return *start_ns + static_cast<int64_t>(*bucket_ns * static_cast<double>(bucket));
}

std::string PaceCsv(const Json& view) {
  Json rows = Json::array();
  for (const Json& rank : ListOf(view, "ranks")) {
    const Json& busy = ListOf(rank, "busy_ratio");
    for (size_t i = 0; i < busy.size(); ++i) {
      const auto at = [&](const char* key) {
        const Json& list = ListOf(rank, key);
        return i < list.size() ? list[i] : Json(nullptr);
      };
      rows.push_back({{"rank", FieldOf(rank, "rank")},
                      {"bucket", i},
                      {"start_ns", BucketStart(view, i)},
                      {"compute_ratio", at("compute_ratio")},
                      {"comm_ratio", at("comm_ratio")},
                      {"busy_ratio", at("busy_ratio")}});
    }
  }
  return WriteCsv({"rank", "bucket", "start_ns", "compute_ratio", "comm_ratio", "busy_ratio"}, rows);
}

absl::StatusOr<std::string> PlainCsv(std::string_view view, const Json& content) {
  if (view == "skew") return SkewCsv(content);
  if (view == "imbalance") return ImbalanceCsv(content);
  if (view == "pace") return PaceCsv(content);
  const report::Field* field = FieldNamed(report::Document::Fields(), view);
  const auto* inside = std::find_if(kRowsOfObjects.begin(), kRowsOfObjects.end(),
                                    [&](const RowsOfObject& candidate) { return candidate.view == view; });
  const bool is_object = inside != kRowsOfObjects.end();
  if (field != nullptr && is_object) field = FieldNamed(*field->type()->Inner(), inside->list);
  if (field == nullptr || field->type()->shape() != report::Shape::kList || field->type()->Inner() == nullptr) {
    return absl::InvalidArgumentError(fmt::format("--format csv: the view '{}' has no rows", view));
  }
  return WriteCsv(ColumnsOf(*field->type()->Inner()), RowsOf(ListOf(content, is_object ? inside->list : "")));
}

// Device memory comes along with the view `memory`.
int64_t CountViews(const Json& report) {
  const std::vector<std::string>& known = KnownViews();
  return std::count_if(known.begin(), known.end(),
                       [&](const std::string& view) { return !FieldOf(report, view).is_null(); });
}

}  // namespace

absl::StatusOr<std::string> RenderCsv(const Json& report, std::string_view view, std::string_view style) {
  if (!style.empty() && style != "plain" && style != "nsys" && style != "nsys-size") {
    return absl::InvalidArgumentError(fmt::format("--csv-style '{}': there are plain, nsys and nsys-size", style));
  }
  if (CountViews(report) > 1) {
    return absl::InvalidArgumentError("--format csv shows one view: ask for one with --view, or for --format json");
  }
  const Json& content = FieldOf(report, view);
  if (content.is_null()) {
    return absl::InvalidArgumentError(fmt::format("--format csv: the report holds no view '{}'", view));
  }
  if (!style.starts_with("nsys")) return PlainCsv(view, content);
  const Json rows = content.is_array() ? content : Json::array();
  return style == "nsys" ? NsysCsv(view, rows) : NsysSizeCsv(view, rows);
}

}  // namespace lockstep
