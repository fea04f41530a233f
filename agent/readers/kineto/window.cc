#include "agent/readers/kineto/window.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "platform/reserved_memory.h"

namespace lockstep::kineto {

Window::Window(ByteSource& source, size_t bytes, size_t max_bytes)
    : source_(source), max_bytes_(std::max(bytes, max_bytes)) {
  Resize(bytes);
}

// Keeps what is unconsumed.
void Window::Resize(size_t bytes) {
  auto larger = std::make_unique_for_overwrite<char[]>(bytes);
  // A small file fills only a part of it.
  const int64_t left = source_.compressed() || source_.total() < 0 ? INT64_MAX : source_.total() - source_.consumed();
  FetchPages(larger.get(), std::min(bytes, end_ - begin_ + static_cast<size_t>(std::max<int64_t>(0, left))));
  if (begin_ < end_) std::memcpy(larger.get(), buffer_.get() + begin_, end_ - begin_);
  buffer_ = std::move(larger);
  bytes_ = bytes;
}

Window::Fill Window::More() {
  if (ended_) return Fill::kEnd;
  const size_t kept = end_ - begin_;
  if (begin_ != 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, kept);
    base_ += static_cast<int64_t>(begin_);
    begin_ = 0;
    end_ = kept;
  }
  if (kept == bytes_) {
    if (kept >= max_bytes_) return Fill::kFull;
    Resize(std::min(kept * 2, max_bytes_));
  }
  const size_t wanted = bytes_ - kept;
  const size_t got = ReadFully(source_, std::span(buffer_.get() + kept, wanted));
  end_ += got;
  ended_ = got < wanted;
  return got == 0 ? Fill::kEnd : Fill::kMore;
}

}  // namespace lockstep::kineto
