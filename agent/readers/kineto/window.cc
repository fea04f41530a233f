#include "agent/readers/kineto/window.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace lockstep::kineto {

Window::Window(ByteSource& source, size_t bytes, size_t max_bytes)
    : source_(source), max_bytes_(std::max(bytes, max_bytes)), buffer_(bytes) {}

Window::Fill Window::More() {
  if (ended_) return Fill::kEnd;
  const size_t kept = end_ - begin_;
  if (begin_ != 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, kept);
    base_ += static_cast<int64_t>(begin_);
    begin_ = 0;
    end_ = kept;
  }
  if (kept == buffer_.size()) {
    if (kept >= max_bytes_) return Fill::kFull;
    buffer_.resize(std::min(kept * 2, max_bytes_));
  }
  const size_t wanted = buffer_.size() - kept;
  const size_t got = ReadFully(source_, std::span(buffer_).subspan(kept));
  end_ += got;
  ended_ = got < wanted;
  return got == 0 ? Fill::kEnd : Fill::kMore;
}

}  // namespace lockstep::kineto
