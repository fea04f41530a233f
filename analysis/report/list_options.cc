#include "analysis/report/list_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "analysis/report/json.h"

namespace lockstep {
namespace {

// The scalar behind a flattened key, or nullptr.
const Json* Find(const Json& row, std::string_view key) {
  if (!row.is_object()) return nullptr;
  if (const auto whole = row.find(std::string(key)); whole != row.end()) {
    return whole->is_structured() ? nullptr : &*whole;
  }
  for (size_t i = 1; i + 1 < key.size(); ++i) {
    if (key[i] != '_' && key[i] != '.') continue;
    const auto outer = row.find(std::string(key.substr(0, i)));
    if (outer == row.end()) continue;
    if (const Json* inner = Find(*outer, key.substr(i + 1)); inner != nullptr) return inner;
  }
  return nullptr;
}

bool Before(const Json* a, const Json* b) {
  const bool a_missing = a == nullptr || a->is_null();
  const bool b_missing = b == nullptr || b->is_null();
  if (a_missing || b_missing) return !a_missing && b_missing;
  if (a->is_number_integer() && b->is_number_integer()) return a->get<int64_t>() > b->get<int64_t>();
  if (a->is_number() && b->is_number()) return a->get<double>() > b->get<double>();
  return a->is_string() && b->is_string() && a->get_ref<const std::string&>() < b->get_ref<const std::string&>();
}

bool SortList(std::string_view key, Json& list) {
  const bool known = std::any_of(list.begin(), list.end(), [&](const Json& row) { return Find(row, key) != nullptr; });
  if (!known) return false;
  std::stable_sort(list.begin(), list.end(),
                   [&](const Json& a, const Json& b) { return Before(Find(a, key), Find(b, key)); });
  return true;
}

}  // namespace

absl::Status ApplyListOptions(const AnalysisOptions& options, Json& views) {
  bool any_rows = false;
  bool sorted = false;
  for (auto& [view, content] : views.items()) {
    if (!content.is_array()) continue;
    any_rows = any_rows || !content.empty();
    if (!options.sort.empty()) sorted = SortList(options.sort, content) || sorted;
    if (options.limit && content.size() > static_cast<size_t>(*options.limit)) {
      content.erase(content.begin() + *options.limit, content.end());
    }
  }
  if (options.sort.empty() || sorted || !any_rows) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("--sort '{}': no list of the views asked for has such a key", options.sort));
}

}  // namespace lockstep
