// The sliding window through which a trace is read: a bounded run of its bytes in memory. Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "platform/byte_source.h"

namespace lockstep::kineto {

class Window {
 public:
  enum class Fill : uint8_t {
    kMore,  // there are more bytes than before
    kEnd,   // the source has ended
    kFull,  // the kept bytes fill the window, and it may not grow further
  };

  // The window starts at `bytes` (at least 1) and doubles, up to `max_bytes`, when one item does not fit. The source
  // must outlive it.
  Window(ByteSource& source, size_t bytes, size_t max_bytes);

  // The bytes not yet consumed.
  [[nodiscard]] std::string_view bytes() const { return {buffer_.get() + begin_, end_ - begin_}; }
  void Consume(size_t count) { begin_ += count; }
  // Keeps the unconsumed bytes and reads behind them; invalidates views.
  Fill More();
  // No byte follows those in the window.
  [[nodiscard]] bool final() const { return ended_; }
  // Offset in the (inflated) stream of the first unconsumed byte.
  [[nodiscard]] int64_t offset() const { return base_ + static_cast<int64_t>(begin_); }

 private:
  void Resize(size_t bytes);

  ByteSource& source_;
  const size_t max_bytes_;
  size_t bytes_ = 0;
  std::unique_ptr<char[]> buffer_;  // of bytes_, which are written before they are looked at
  size_t begin_ = 0;
  size_t end_ = 0;
  int64_t base_ = 0;  // stream offset of buffer_[0]
  bool ended_ = false;
};

}  // namespace lockstep::kineto
