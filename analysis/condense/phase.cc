#include "analysis/condense/phase.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "analysis/base/ascii.h"

namespace lockstep {
namespace {

struct Word {
  std::string_view text;
  Phase phase;
};

constexpr std::array kWholeNames = std::to_array<Word>({
    {"prefill", Phase::kPrefill},
    {"decode", Phase::kDecode},
    {"forward", Phase::kForward},
    {"backward", Phase::kBackward},
    {"optimizer", Phase::kOptimizer},
});

// What torch annotates by itself; the autograd engine has a range for each node of the backward pass.
constexpr std::array kBeginnings = std::to_array<Word>({
    {"Optimizer.step#", Phase::kOptimizer},
    {"autograd::engine::evaluate_function", Phase::kBackward},
    {"DistributedDataParallel.forward", Phase::kForward},
    {"FullyShardedDataParallel.forward", Phase::kForward},
});

// SGLang's forward modes.
constexpr std::array kStepModes = std::to_array<Word>({
    {"EXTEND", Phase::kPrefill},
    {"PREFILL", Phase::kPrefill},
    {"SPLIT_PREFILL", Phase::kPrefill},
    {"DRAFT_EXTEND", Phase::kPrefill},
    {"DECODE", Phase::kDecode},
    {"TARGET_VERIFY", Phase::kDecode},
    {"MIXED", Phase::kMixed},
});

// "execute_32_context_0(...)_generation_32(...)" or without the first number: the number after the word.
std::optional<int64_t> NumberAfter(std::string_view name, std::string_view word) {
  const size_t at = name.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = name.substr(at + word.size());
  int64_t number = 0;
  if (std::from_chars(rest.data(), rest.data() + rest.size(), number).ec != std::errc()) return std::nullopt;
  return number;
}

std::optional<Phase> OfEngine(std::string_view name) {
  if (!name.starts_with("execute_")) return std::nullopt;
  const auto prompts = NumberAfter(name, "context_");
  const auto decoding = NumberAfter(name, "generation_");
  if (!prompts || !decoding) return std::nullopt;
  if (*prompts > 0 && *decoding > 0) return Phase::kMixed;
  if (*prompts > 0) return Phase::kPrefill;
  return *decoding > 0 ? Phase::kDecode : Phase::kNone;
}

std::optional<Phase> OfStepMode(std::string_view name) {
  constexpr std::string_view kOpen = "step[";
  if (!name.starts_with(kOpen)) return std::nullopt;
  const std::string_view inside = name.substr(kOpen.size());
  const std::string_view mode = inside.substr(0, inside.find_first_of(" ]"));
  for (const Word& word : kStepModes) {
    if (word.text == mode) return word.phase;
  }
  return std::nullopt;
}

// "## Forward ##" and "forward" are equal.
bool IsNothingBut(std::string_view name, std::string_view word) { return EqualIgnoringCase(Trimmed(name, "# "), word); }

}  // namespace

std::string_view Name(Phase phase) {
  static constexpr std::array kNames =
      std::to_array<std::string_view>({"", "prefill", "decode", "mixed", "forward", "backward", "optimizer"});
  const auto index = static_cast<size_t>(phase);
  return index < kNames.size() ? kNames[index] : std::string_view();
}

Phase PhaseOfRange(std::string_view name) {
  if (const auto phase = OfEngine(name)) return *phase;
  if (const auto phase = OfStepMode(name)) return *phase;
  for (const Word& word : kBeginnings) {
    if (name.starts_with(word.text)) return word.phase;
  }
  for (const Word& word : kWholeNames) {
    if (IsNothingBut(name, word.text)) return word.phase;
  }
  return Phase::kNone;
}

bool IsEngineStep(std::string_view name) { return OfEngine(name).has_value() || OfStepMode(name).has_value(); }

}  // namespace lockstep
