#include "agent/progress_line.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "analysis/base/time.h"
#include "platform/clock.h"
#include "platform/host.h"

namespace lockstep {
namespace {

// Short work shows nothing, long work moves a few times a second.
constexpr int64_t kFirstAfterNs = 500 * kNsPerMs;
constexpr int64_t kEveryNs = 200 * kNsPerMs;

std::string TextOf(const SendProgress& progress) {
  const std::string name = std::filesystem::path(progress.path).filename().string().substr(0, 50);
  std::string text = fmt::format("{} of {} files, {}", progress.files_done, progress.files, name);
  if (progress.total > 0) {
    text += fmt::format(" {:.0f} %", 100.0 * static_cast<double>(progress.done) / static_cast<double>(progress.total));
  }
  return text;
}

}  // namespace

ProgressLine::ProgressLine()
    : enabled_(StderrIsTerminal()), shown_ns_(SystemClock().MonotonicNs() + kFirstAfterNs - kEveryNs) {}

ProgressLine::~ProgressLine() {
  const MutexLock lock(mutex_);
  if (dirty_) {
    std::fputs("\r\033[K", stderr);
  }
}

void ProgressLine::Show(const SendProgress& progress) {
  if (!enabled_) {
    return;
  }
  const MutexLock lock(mutex_);
  const int64_t now_ns = SystemClock().MonotonicNs();
  if (now_ns - shown_ns_ < kEveryNs) {
    return;
  }
  shown_ns_ = now_ns;
  dirty_ = true;
  std::fputs(fmt::format("\r\033[K{}", TextOf(progress)).c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace lockstep
