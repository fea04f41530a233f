#include "aggregator/aggregator_command.h"
#include "platform/host.h"

int main(int argc, char** argv) {
  lockstep::ShareFreeMemory();
  return lockstep::RunAggregatorCommand(argc, argv);
}
