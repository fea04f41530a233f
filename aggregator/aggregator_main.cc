#include "aggregator/aggregator_command.h"

int main(int argc, char** argv) { return lockstep::RunAggregatorCommand(argc, argv); }
