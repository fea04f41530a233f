#include "aggregator/aggregator_command.h"
#include "platform/heap.h"

int main(int argc, char** argv) {
  lockstep::UseLittleMemory();
  lockstep::UseMemoryFreely();
  return lockstep::RunAggregatorCommand(argc, argv);
}
