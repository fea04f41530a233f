#include "analysis/metrics/skew/block_bootstrap.h"

#include <algorithm>

namespace lockstep {
namespace {

constexpr size_t kMaxBlocks = 256;
constexpr uint64_t kResamples = 1'000;
constexpr uint64_t kSeed = 0x6c6f636b73746570ULL;

// SplitMix64 finaliser: a draw is a function of its number alone.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::vector<ShareBlock> MergeNeighbours(const std::vector<ShareBlock>& blocks) {
  std::vector<ShareBlock> out(kMaxBlocks);
  for (size_t i = 0; i < blocks.size(); ++i) {
    ShareBlock& into = out[i * kMaxBlocks / blocks.size()];
    into.part += blocks[i].part;
    into.rest += blocks[i].rest;
  }
  return out;
}

std::optional<double> ShareOf(double part, double rest) {
  if (part + rest <= 0) return std::nullopt;
  return part / (part + rest);
}

}  // namespace

std::optional<ShareInterval> BootstrapShare(std::vector<ShareBlock> blocks) {
  if (blocks.size() > kMaxBlocks) blocks = MergeNeighbours(blocks);
  if (blocks.empty()) return std::nullopt;
  std::vector<double> shares;
  uint64_t draw = 0;
  for (uint64_t resample = 0; resample < kResamples; ++resample) {
    double part = 0;
    double rest = 0;
    for (size_t i = 0; i < blocks.size(); ++i) {
      const ShareBlock& block = blocks[Mix(kSeed + draw++) % blocks.size()];
      part += block.part;
      rest += block.rest;
    }
    if (const auto share = ShareOf(part, rest)) shares.push_back(*share);
  }
  if (shares.empty()) return std::nullopt;
  std::sort(shares.begin(), shares.end());
  const size_t low = (shares.size() * 25 + 999) / 1'000;
  const size_t high = (shares.size() * 975 + 999) / 1'000;
  return ShareInterval{shares[std::max<size_t>(1, low) - 1], shares[high - 1]};
}

}  // namespace lockstep
