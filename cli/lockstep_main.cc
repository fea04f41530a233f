#include "cli/command_table.h"
#include "platform/host.h"

int main(int argc, char** argv) {
  lockstep::ShareFreeMemory();
  return lockstep::RunLockstep(argc, argv);
}
