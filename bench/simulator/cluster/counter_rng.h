// Counter-based random numbers: every draw is a pure function of (seed, rank, step, op, purpose).
//
// Removing one cause from a run therefore shifts no other number, and ranks may be simulated in any order. Only integer
// and IEEE basic arithmetic is used, so a seed gives the same bytes on every machine. Thread safe.
#pragma once

#include <cstdint>

namespace lockstep {

// What a draw is for. Values are part of the key: append, never renumber.
enum class Purpose : uint32_t {
  kDispatch = 1,  // host time before a call
  kCall = 2,      // length of a call
  kLaunchLatency = 3,
  kStreamGap = 4,
  kKernelNoise = 5,
  kKernelSigma = 6,
  kDeviceSpread = 7,
  kHiccup = 8,  // rare long host pause
  kHiccupLength = 9,
  kTransfer = 10,
  kEndJitter = 11,
  kHostWork = 12,
  kCauseRank = 13,
  kLateHost = 14,
  kClockOffset = 15,
  kClockDrift = 16,
  kDeviceBias = 17,
  kClockJitter = 18,
  kJitterScale = 19,
  kClockStep = 20,
  kSyncReturn = 21,
  kCopyNoise = 22,
  kCommHash = 23,
  kFirstSeq = 24,
  kSessionStart = 25,
  kFiller = 26,
  kClockStepTime = 27,
  kUuid = 28,
  kOp = 64,          // all draws of one op hang on this one: see OpDraws
  kHostTimes = 65,   // dispatch, call, launch latency and stream gap together
  kSlowPart = 66,    // of a rank's speed, from step to step
  kPairShare = 67,   // what one rank sends to another in an uneven exchange
  kRingOrder = 68,   // where a communicator's ring begins
  kEarlyStart = 69,  // how long before its predecessor's end a dependent kernel starts
  kGraphLatency = 70,
  kBatchKind = 71,       // what a serving step holds
  kSequenceLength = 72,  // tokens of a step of one data-parallel replica
  kCauseKernel = 128,
  kPausePhase = 129,
  kDataStall = 130,
  kClockWander = 131,
  kStagger = 132,
  kLoss = 133,
  kBurst = 134,
  kHead = 135,
  kAbsurd = 136,
  kDefectPlace = 137,
  kDecoy = 138,
  kKernelTail = 139,
  kOutlierPlace = 140,
  kScatter = 141,
  kAllocLength = 142,
};

struct DrawKey {
  int32_t rank = -1;  // -1 = shared by all ranks
  int64_t step = -1;
  uint32_t op = 0;
  Purpose purpose = Purpose::kDispatch;
};

class CounterRng {
 public:
  explicit CounterRng(uint64_t seed) : seed_(seed) {}

  [[nodiscard]] uint64_t Bits(const DrawKey& key) const { return Bits(key, 0); }
  // In [low, high), high > low.
  [[nodiscard]] double Uniform(const DrawKey& key, double low, double high) const;
  // In [low, high], both included.
  [[nodiscard]] int64_t UniformInt(const DrawKey& key, int64_t low, int64_t high) const;
  // Mean 0, variance 1, never beyond 6 (sum of twelve uniforms).
  [[nodiscard]] double Normal(const DrawKey& key) const;
  [[nodiscard]] bool Chance(const DrawKey& key, double probability) const;

 private:
  [[nodiscard]] uint64_t Bits(const DrawKey& key, uint64_t lane) const;
  uint64_t seed_;
};

}  // namespace lockstep
