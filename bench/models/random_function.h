// Functions that a random model calls, and how libraries spell them.
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::compare::random_function {

using Rng = std::mt19937_64;

inline double Uniform(Rng& rng, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(rng);
}
inline int Int(Rng& rng, int low, int high) { return std::uniform_int_distribution<int>(low, high)(rng); }
inline bool Chance(Rng& rng, double p) { return Uniform(rng, 0, 1) < p; }
template <typename T>
const T& Pick(Rng& rng, const std::vector<T>& from) {
  return from[static_cast<size_t>(Int(rng, 0, static_cast<int>(from.size()) - 1))];
}

// A function before it is spelled.
struct Function {
  enum class Style { kCpp, kFunctor, kInductor, kTriton, kGemm, kPlain };
  Style style = Style::kCpp;
  std::string scope;  // namespace
  std::string base;
  std::string functor;               // of an elementwise container
  std::vector<std::string> numbers;  // of the template list
  std::string type = "float";
  std::string layout;  // of gemms
  int ordinal = 0;     // of inductor
  std::string suffix;  // version or hash
  bool nsys = false;   // spelled as nsys does
};

// Names that functions are made from; each is used once.
[[nodiscard]] const std::vector<std::string>& Verbs();
[[nodiscard]] Function AttentionFunction(Rng& rng);
[[nodiscard]] Function GemmFunction(Rng& rng);
// Takes one of the verbs.
[[nodiscard]] Function RandomFunction(Rng& rng, std::vector<std::string>& verbs);
[[nodiscard]] Function PlainFunction(Rng& rng, const std::string& name);

[[nodiscard]] std::string SpelledFunction(const Function& f);
// Two functions are one if these are equal.
[[nodiscard]] std::string IdentityText(Function f);
// One of the variants that a library has for products of a layout.
[[nodiscard]] std::string GemmVariant(Rng& rng, int library, std::string layout);
// What a fused kernel is named after a part: its operation.
[[nodiscard]] std::string OperationOf(const Function& f);
// As another version of the software spells it.
void Change(Rng& rng, Function& f);
// As another library names it, if one does.
void Rename(Rng& rng, Function& f);
// What the two kernels are named that a kernel is split into.
[[nodiscard]] std::pair<Function, Function> PiecesOf(Rng& rng, const Function& f);

}  // namespace lockstep::compare::random_function
