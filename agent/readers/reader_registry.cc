#include <array>

#include "agent/readers/kineto/kineto_format.h"
#include "agent/readers/nsys/nsys_format.h"
#include "agent/readers/trace_reader.h"

namespace lockstep {

std::span<const TraceFormat> BuiltinFormats() {
  static const std::array kFormats = {
      KinetoFormat(),
      NsysFormat(),
  };
  return kFormats;
}

}  // namespace lockstep
