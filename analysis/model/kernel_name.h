// The parts of a kernel name, demangled (C++ of several demanglers, Triton) or mangled (Itanium). Views into the name.
// Linear in its length. Pure and thread safe.
#pragma once

#include <string_view>

namespace lockstep {

struct KernelNameParts {
  std::string_view head;  // from the start of the name to the end of the base name: return type, namespaces, base name
  std::string_view base;  // the function's own name; the whole name where nothing better is found
  std::string_view rest;  // template and argument lists
};
[[nodiscard]] KernelNameParts SplitKernelName(std::string_view name);

}  // namespace lockstep
