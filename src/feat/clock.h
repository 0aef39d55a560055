/*
 * clock.h - the clock of the data: the column data_config.clock_field says when a row happened, and
 * a row's day is a number of days since 1970-01-01. Tables let ids go that were not seen for some
 * days; the machine's own clock has no part in it, so that a run can be repeated.
 */
#ifndef CR_FEAT_CLOCK_H
#define CR_FEAT_CLOCK_H

#include "feat/feat.h"

/* cr_clock_check finds mistakes in clock_unit, and features that need a clock where there is none.
 * cr_clock_day returns the day of a cell's number, or
 * NaN when it is no time between the years 1900 and 2200 (of DAYS: any whole number up to 2^24). */
void cr_clock_check(const cr_features *fs, const cr_data_conf *data, cr_diag *diag);
double cr_clock_day(cr_clock_unit unit, double x);
cr_clock_unit cr_clock_unit_of(const char *name);

#endif
