// Any bytes as a kernel name: parts tile the name and no answer contradicts itself.
#include <cstddef>
#include <cstdint>

#include "analysis/base/check.h"
#include "analysis/model/kernel_class.h"
#include "analysis/model/kernel_name.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view name(reinterpret_cast<const char*>(data), size);
  const lockstep::KernelNameParts parts = lockstep::SplitKernelName(name);
  LOCKSTEP_CHECK(parts.head.size() + parts.rest.size() == name.size());
  LOCKSTEP_CHECK(parts.head.ends_with(parts.base));
  const lockstep::KernelClass kind = lockstep::ClassifyKernel(name);
  const bool communicates = kind.category == lockstep::Category::kCommunication;
  LOCKSTEP_CHECK(communicates == (kind.family == lockstep::Family::kCommunication));
  LOCKSTEP_CHECK(communicates == (kind.library != lockstep::CollectiveLibrary::kNone));
  LOCKSTEP_CHECK(communicates || kind.op == lockstep::CollectiveOp::kUnknown);
  return 0;
}
