#include <fmt/format.h>

#include <array>
#include <vector>

#include "agent/readers/trace_reader.h"
#include "platform/byte_source.h"

namespace lockstep {
namespace {

constexpr size_t kHeadBytes = size_t{64} << 10;
constexpr size_t kTarMagicOffset = 257;

struct Magic {
  std::string_view bytes;
  size_t offset;
  std::string_view meaning;
};
// Files that lie beside traces, and what to do with them.
constexpr std::array kMagics = {
    Magic{"PK\x03\x04", 0, "a zip archive: unpack it and give the traces inside"},
    Magic{"\x28\xB5\x2F\xFD", 0, "compressed by zstd: unpack it first (zstd -d)"},
    Magic{"\xFD"
          "7zXZ",
          0, "compressed by xz: unpack it first (xz -d)"},
    Magic{"BZh", 0, "compressed by bzip2: unpack it first (bzip2 -d)"},
    Magic{"ustar", kTarMagicOffset, "a tar archive: unpack it and give the traces inside"},
    Magic{"\x80\x02", 0, "a Python pickle, such as a PyTorch flight recorder dump: that is no trace of GPU activity"},
    Magic{"\x80\x04", 0, "a Python pickle: that is no trace of GPU activity"},
};

bool EndsWith(std::string_view text, std::string_view end) { return text.ends_with(end); }

std::string WhatItIs(std::string_view path, std::string_view head) {
  for (const Magic& magic : kMagics) {
    if (head.size() >= magic.offset && head.substr(magic.offset).starts_with(magic.bytes)) {
      return std::string(magic.meaning);
    }
  }
  if (EndsWith(path, ".nsys-rep") || EndsWith(path, ".qdrep")) {
    return "an Nsight Systems report: export it first (nsys export --type sqlite FILE) and give the .sqlite file";
  }
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (head[first] == '{' || head[first] == '[')) {
    return "JSON, but no torch.profiler trace: it has no 'traceEvents' and is no array of events";
  }
  return "neither a torch.profiler trace (JSON, plain or gzip) nor an nsys export (SQLite)";
}

const TraceFormat* MostCertain(std::string_view head, bool was_gzip) {
  const TraceFormat* best = nullptr;
  int certainty = 0;
  for (const TraceFormat& format : BuiltinFormats()) {
    if (const int c = format.sniff(head, was_gzip); c > certainty) {
      certainty = c;
      best = &format;
    }
  }
  return best;
}

}  // namespace

Detection DetectFormat(const std::string& path) {
  Detection detection;
  const auto source = OpenByteSource(path);
  if (!source.ok()) {
    detection.verdict = FileVerdict::kUnreadable;
    detection.reason = std::string(source.status().message());
    return detection;
  }
  std::vector<char> buffer(kHeadBytes);
  const std::string_view head(buffer.data(), ReadFully(**source, buffer));
  const auto& damage = (*source)->damage();
  if (head.empty()) {
    detection.reason = damage.has_value() ? damage->reason : "it is empty";
    return detection;
  }
  detection.format = MostCertain(head, (*source)->compressed());
  detection.verdict = detection.format != nullptr ? FileVerdict::kTrace : FileVerdict::kNotATrace;
  if (detection.format == nullptr) detection.reason = WhatItIs(path, head);
  return detection;
}

}  // namespace lockstep
