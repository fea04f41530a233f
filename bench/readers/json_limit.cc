#include "bench/readers/json_limit.h"

#include <absl/status/status.h>
#include <fmt/format.h>
#include <simdjson.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "analysis/base/status_macros.h"
#include "platform/byte_source.h"

namespace lockstep {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr size_t kWindow = size_t{1} << 20;
constexpr size_t kMaxWindow = size_t{64} << 20;

uint64_t Mix(uint64_t sum, std::string_view bytes) {
  return sum * 31 + bytes.size() + (bytes.empty() ? 0 : static_cast<uint8_t>(bytes.back()));
}

// Decimal microseconds to nanoseconds, without floating point.
int64_t Nanoseconds(std::string_view token) {
  int64_t value = 0;
  int decimals = -1;
  for (const char c : token) {
    if (c == '.') {
      decimals = 0;
    } else if (c >= '0' && c <= '9' && decimals < 3) {
      value = value * 10 + (c - '0');
      decimals += decimals >= 0 ? 1 : 0;
    }
  }
  for (int i = decimals < 0 ? 0 : decimals; i < 3; ++i) value *= 10;
  return value;
}

class Walker {
 public:
  [[nodiscard]] const JsonWalk& walk() const { return walk_; }

  // Events separated by commas; the byte before them and the kPadding bytes behind belong to the walker.
  void Events(char* begin, size_t size) {
    begin[-1] = '[';
    begin[size] = ']';
    ondemand::document document = parser_.iterate(begin - 1, size + 2, size + 2 + simdjson::SIMDJSON_PADDING);
    for (ondemand::object event : document.get_array()) {
      ++walk_.events;
      Event(event);
    }
  }

 private:
  void Event(ondemand::object event) {
    for (ondemand::field field : event) {
      const ondemand::raw_json_string key = field.key();
      ondemand::value value = field.value();
      if (key == "args") {
        Everything(value);
      } else if (key == "ts" || key == "dur") {
        walk_.checksum += static_cast<uint64_t>(Nanoseconds(value.raw_json_token()));
      } else if (key == "cat") {
        const std::string_view category = value.get_string();
        walk_.kernels += category == "kernel" ? 1 : 0;
        walk_.checksum = Mix(walk_.checksum, category);
      } else {
        Scalar(value);
      }
    }
  }

  void Scalar(ondemand::value value) {
    if (value.type() == ondemand::json_type::string) {
      walk_.checksum = Mix(walk_.checksum, value.get_string());
    } else {
      walk_.checksum = Mix(walk_.checksum, value.raw_json_token());
    }
  }

  void Everything(ondemand::value value) {
    switch (value.type()) {
      case ondemand::json_type::object:
        for (ondemand::field field : value.get_object()) Everything(field.value());
        return;
      case ondemand::json_type::array:
        for (ondemand::value element : value.get_array()) Everything(element);
        return;
      default:
        Scalar(value);
    }
  }

  ondemand::parser parser_;
  JsonWalk walk_;
};

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Where an event ends, the last such place of the text: behind its brace. A comma and `{"ph"` follow.
std::optional<size_t> LastEdge(std::string_view text) {
  for (size_t at = text.rfind("\"ph\""); at != std::string_view::npos && at > 0; at = text.rfind("\"ph\"", at - 1)) {
    size_t back = at;
    const auto before = [&](char wanted) {
      while (back > 0 && IsSpace(text[back - 1])) --back;
      return back > 0 && text[--back] == wanted;
    };
    if (before('{') && before(',') && before('}')) return back + 1;
  }
  return std::nullopt;
}

// Size of the one object at the front.
size_t ObjectSize(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      quoted = c != '"';
      if (c == '\\') ++i;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return 0;
}

size_t Skip(std::string_view text, size_t at) {
  while (at < text.size() && (IsSpace(text[at]) || text[at] == ',')) ++at;
  return at;
}

}  // namespace

absl::StatusOr<JsonWalk> WalkJson(const std::string& path) {
  LOCKSTEP_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source, OpenByteSource(path));
  const auto buffer = std::make_unique_for_overwrite<char[]>(1 + kMaxWindow + simdjson::SIMDJSON_PADDING + 1);
  char* const base = buffer.get() + 1;
  Walker walker;
  int64_t bytes = 0;
  size_t held = 0;
  bool inside = false;
  while (true) {
    if (held + kWindow > kMaxWindow) {
      return absl::InvalidArgumentError(fmt::format("{}: no edge between events in {} bytes", path, held));
    }
    const size_t got = ReadFully(*source, {base + held, kWindow});
    bytes += static_cast<int64_t>(got);
    held += got;
    const std::string_view text(base, held);
    size_t begin = 0;
    if (!inside) {
      const size_t key = text.find("\"traceEvents\"");
      const size_t open = key == std::string_view::npos ? key : text.find('[', key);
      if (open == std::string_view::npos) return absl::InvalidArgumentError(path + ": no traceEvents at its head");
      begin = open + 1;
      inside = true;
    }
    begin = Skip(text, begin);
    size_t end = begin;
    if (const auto edge = LastEdge(text.substr(begin))) {
      end = begin + *edge;
      const char kept = base[end];
      walker.Events(base + begin, *edge);
      base[end] = kept;
    }
    begin = Skip(text, end);
    if (got == 0) {
      if (const size_t last = ObjectSize(text.substr(begin)); last > 0) walker.Events(base + begin, last);
      break;
    }
    held -= begin;
    std::memmove(base, base + begin, held);
  }
  JsonWalk walk = walker.walk();
  walk.bytes = bytes;
  return walk;
}

}  // namespace lockstep
