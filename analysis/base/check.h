// LOCKSTEP_CHECK: a broken invariant of our own code ends the process with its place. Never used on outside data.
#pragma once

#include <cstdio>
#include <cstdlib>

#define LOCKSTEP_CHECK(condition)                                                            \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      std::fprintf(stderr, "%s:%d: broken invariant: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                          \
    }                                                                                        \
  } while (false)
