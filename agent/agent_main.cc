#include "agent/agent_command.h"
#include "platform/host.h"

int main(int argc, char** argv) {
  lockstep::ShareFreeMemory();
  return lockstep::RunAgentCommand(argc, argv);
}
