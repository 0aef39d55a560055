/*
 * stop.c - the flag of stop.h.
 */
#include "base/stop.h"

atomic_int cr_stop_requested;
