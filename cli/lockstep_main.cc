#include "cli/command_table.h"
#include "platform/heap.h"

int main(int argc, char** argv) {
  lockstep::UseLittleMemory();
  return lockstep::RunLockstep(argc, argv);
}
