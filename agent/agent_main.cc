#include "agent/agent_command.h"
#include "platform/heap.h"

int main(int argc, char** argv) {
  lockstep::UseLittleMemory();
  return lockstep::RunAgentCommand(argc, argv);
}
