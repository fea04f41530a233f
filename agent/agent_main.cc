#include "agent/agent_command.h"

int main(int argc, char** argv) { return lockstep::RunAgentCommand(argc, argv); }
