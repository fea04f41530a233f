#include "cli/command_table.h"

int main(int argc, char** argv) { return lockstep::RunLockstep(argc, argv); }
