// Reads a trace written in a test, all in memory.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "agent/readers/kineto/kineto_format.h"
#include "tests/support/collecting_sink.h"

namespace lockstep {

struct Reading {
  CollectingSink sink;
  absl::StatusOr<ReadResult> result = absl::UnknownError("not read");

  [[nodiscard]] bool whole() const { return result.ok() && result->outcome == ReadOutcome::kWhole; }
  [[nodiscard]] bool partial() const { return result.ok() && result->outcome == ReadOutcome::kPartial; }
  // Why the file was refused or is partial.
  [[nodiscard]] std::string why() const {
    return result.ok() ? result->reason : std::string(result.status().message());
  }
};

inline std::unique_ptr<Reading> ReadText(std::string_view text, const ReadOptions& options = {},
                                         size_t chunk = SIZE_MAX) {
  auto reading = std::make_unique<Reading>();
  const std::unique_ptr<ByteSource> source = MemoryByteSource(text, chunk);
  reading->result = ReadKineto(*source, "test.json", options, reading->sink);
  return reading;
}

// An object trace around the events, given as text.
inline std::string Trace(std::string_view events, std::string_view head = "", std::string_view tail = "") {
  std::string text = "{";
  text += head;
  text += "\"traceEvents\": [";
  text += events;
  text += "]";
  text += tail;
  text += "}";
  return text;
}

// A kernel row; `extra` is appended to its args.
inline std::string Kernel(std::string_view name, std::string_view ts, std::string_view dur,
                          std::string_view extra = "") {
  std::string text = R"({"ph":"X","cat":"kernel","name":")";
  text += name;
  text += R"(","pid":0,"tid":7,"ts":)";
  text += ts;
  text += R"(,"dur":)";
  text += dur;
  text += R"(,"args":{"device":0,"stream":7,"correlation":5)";
  text += extra;
  text += "}}";
  return text;
}

}  // namespace lockstep
