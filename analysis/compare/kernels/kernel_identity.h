// Everything about one kernel that the rungs of the matching compare, read once. Pure and thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/compare/kernels/kernel_of_run.h"
#include "analysis/compare/kernels/layer_role.h"

namespace lockstep::compare {

// Names are compared as a whole, but their parts are read from this many bytes only.
inline constexpr size_t kMostReadOfName = 4'096;

struct KernelIdentity {
  std::string spelling;    // without return type and arguments, in the spelling of TokensOfName
  std::string bare;        // base name and template list without namespaces and appended hashes
  std::string stem;        // StemOf the base name
  std::string plain;       // PlainStem; of communication its library, operation and type
  std::string stem_words;  // plain stem and the words of the template list: the identity of a kernel of a container
  std::vector<std::string> named_words;     // of operations, in the base name and in the template list, sorted
  std::vector<std::string> words;           // the same, each once
  std::vector<std::string> template_words;  // those of the template list
  std::vector<uint64_t> tokens;             // hashes of the words and numbers of the template list, sorted
  std::string squashed;                     // all words without separators, to look for words in
  std::string range;                        // with # for numbers; "" = not known
  std::string layout;                       // TunerLayout, of kernels of a tuner
  LayerRole role = LayerRole::kOther;
  bool tuner = false;      // one of several variants that a tuner chooses among
  bool variant = false;    // named by its tile, so that its base name is no identity
  bool inductor = false;   // its ordinal is arbitrary, so an equal name is no proof
  bool container = false;  // the base name says nothing
};

[[nodiscard]] KernelIdentity IdentityOf(const KernelOfRun& kernel);

// 1 = the same template lists, 0 = nothing in common: shared by all words and numbers of both.
[[nodiscard]] double SharedTokens(const KernelIdentity& a, const KernelIdentity& b);

}  // namespace lockstep::compare
