#include "agent/progress_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

#include "analysis/base/time.h"
#include "platform/terminal.h"

namespace lockstep {
namespace {

constexpr int64_t kFirstAfterNs = kNsPerS;
constexpr int64_t kEveryNs = 200 * kNsPerMs;
constexpr size_t kLineColumns = 79;  // of any terminal: a longer line could not be overwritten
constexpr size_t kBarColumns = 24;

}  // namespace

std::string ProgressText(const SendProgress& progress, size_t columns) {
  std::string name = std::filesystem::path(progress.path).filename().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  std::string text;
  if (progress.part >= 0) {
    const double part = std::min(progress.part, 1.0);
    std::string bar(static_cast<size_t>(part * static_cast<double>(kBarColumns)), '=');
    if (bar.size() < kBarColumns) bar += '>';
    text = fmt::format("[{:{}}] {:3.0f} %  ", bar, kBarColumns, 100 * part);
  }
  text += fmt::format("{} of {} files, {}", progress.files_done, progress.files, name);
  if (progress.part < 0 && progress.total > 0) {
    text += fmt::format(" {:.0f} %", 100.0 * static_cast<double>(progress.done) / static_cast<double>(progress.total));
  }
  return text.substr(0, columns);
}

ProgressPace::ProgressPace(const Clock& clock)
    : clock_(clock), shown_ns_(clock.MonotonicNs() + kFirstAfterNs - kEveryNs) {}

bool ProgressPace::TakeTurn() {
  const int64_t now_ns = clock_.MonotonicNs();
  if (now_ns - shown_ns_ < kEveryNs) return false;
  shown_ns_ = now_ns;
  return true;
}

ProgressLine::ProgressLine() : enabled_(StderrTakesEscapes()), pace_(SystemClock()) {}

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
  if (!pace_.TakeTurn()) {
    return;
  }
  dirty_ = true;
  std::fputs(fmt::format("\r\033[K{}", ProgressText(progress, kLineColumns)).c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace lockstep
