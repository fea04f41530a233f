// The data of the classifier: which words in a kernel name mean what. First match wins. Any change that changes an
// answer needs a new kClassifierVersion.
#pragma once

#include <span>
#include <string_view>

#include "analysis/model/collective.h"
#include "analysis/model/kernel_class.h"

namespace lockstep {

// A communication kernel outside NCCL's own naming. The base name is taken without leading underscores; case counts.
struct CommunicationRule {
  std::string_view scope;     // occurs in the head (return type, namespaces, base name); "" = anything
  std::string_view prefix;    // of the base name
  std::string_view contains;  // in the base name, after the prefix or anywhere
  CollectiveLibrary library;  // kNone: an exception, not communication
  CollectiveOp op;            // kUnknown: what the words of the base name say, if anything
};
[[nodiscard]] std::span<const CommunicationRule> CommunicationRules();

// Where a word of a family is looked for.
enum class NamePart { kBase, kHead, kAnywhere };
struct FamilyRule {
  NamePart part;
  std::string_view word;  // lower case; the name is lowered before comparing
  Family family;
};
[[nodiscard]] std::span<const FamilyRule> FamilyRules();

// Operations as words, longest first, lower case and without underscores.
struct OpWord {
  std::string_view word;
  CollectiveOp op;
};
[[nodiscard]] std::span<const OpWord> OpWords();

// Element types as NCCL prints them between underscores, and as template arguments of other libraries.
struct TypeWord {
  std::string_view word;
  DataType type;
};
[[nodiscard]] std::span<const TypeWord> NcclTypeWords();
[[nodiscard]] std::span<const TypeWord> TemplateTypeWords();

}  // namespace lockstep
