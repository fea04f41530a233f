#include "agent/pipeline/run_context.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "analysis/base/status_macros.h"
#include "platform/file_system.h"

namespace lockstep {
namespace {

constexpr int64_t kMaxContextBytes = int64_t{1} << 20;
constexpr size_t kMostKeys = 1'000;
constexpr size_t kLongestText = 1'000;  // bytes of a key or a value

}  // namespace

absl::Status AddContext(const std::string& text, ContextByKey& context) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    return absl::InvalidArgumentError(fmt::format("--context '{:.80}': it must be KEY=VALUE", text));
  }
  if (text.size() > kLongestText) {
    return absl::InvalidArgumentError(
        fmt::format("--context '{:.80}': it is longer than {} bytes", text, kLongestText));
  }
  context[text.substr(0, equals)] = text.substr(equals + 1);
  return absl::OkStatus();
}

absl::StatusOr<ContextByKey> ContextOfFolder(const std::string& path) {
  ContextByKey context;
  const std::string file = (std::filesystem::path(path).parent_path() / kContextFileName).string();
  if (!FileSize(file).ok()) return context;
  LOCKSTEP_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(file, kMaxContextBytes));
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return absl::InvalidArgumentError(fmt::format("{}: it must be one JSON object of keys and values", file));
  }
  for (const auto& [key, value] : json.items()) {
    if (value.is_structured() || value.is_null()) {
      return absl::InvalidArgumentError(
          fmt::format("{}: the value of '{:.80}' must be text, a number or a truth value", file, key));
    }
    std::string told = value.is_string() ? value.get<std::string>() : value.dump();
    if (key.empty() || key.size() > kLongestText || told.size() > kLongestText || context.size() == kMostKeys) {
      return absl::InvalidArgumentError(
          fmt::format("{}: keys and values have at most {} bytes, and there are at most "
                      "{} of them",
                      file, kLongestText, kMostKeys));
    }
    context.emplace(key, std::move(told));
  }
  return context;
}

absl::Status TakeOutContextFiles(InputFiles& inputs) {
  const auto is_context = [](const std::string& file) {
    return std::filesystem::path(file).filename() == std::string(kContextFileName);
  };
  for (const std::string& file : inputs.files) {
    if (is_context(file)) LOCKSTEP_RETURN_IF_ERROR(ContextOfFolder(file).status());
  }
  std::erase_if(inputs.files, is_context);
  return absl::OkStatus();
}

}  // namespace lockstep
