/*
 * clock.c - see clock.h. Days are counted in UTC, all of the same length, as Unix time has them.
 */
#include "feat/clock.h"

#include <math.h>
#include <string.h>

#include "data/config.h"
#include "feat/config.h"

static const char *const names[] = {[CR_CLOCK_SECONDS] = "SECONDS",
                                    [CR_CLOCK_MILLISECONDS] = "MILLISECONDS",
                                    [CR_CLOCK_DAYS] = "DAYS",
                                    [CR_CLOCK_DATE] = "DATE"};
#define N_UNITS 4

cr_clock_unit cr_clock_unit_of(const char *name) {
    for (int k = 0; k < N_UNITS; k++)
        if (strcmp(name, names[k]) == 0) return (cr_clock_unit)k;
    return CR_CLOCK_NONE;
}

void cr_clock_check(const cr_features *fs, const cr_data_conf *data, cr_diag *diag) {
    for (int i = 0; i < fs->n && !*data->clock_field; i++) {
        const cr_grow_conf *c = fs->v[i]->grow;
        if (c && c->expiry && c->expiry->unseen_days > 0)
            cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c->expiry, "unseen_days"),
                        "feature '%s': unseen_days counts days of the data, and nothing tells the "
                        "time of a row; name its column in data_config.clock_field, or use "
                        "unseen_steps",
                        fs->v[i]->name);
    }
    if (cr_clock_unit_of(data->clock_unit) == CR_CLOCK_NONE)
        cr_diag_add(
            diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(data, "clock_unit"),
            "unknown clock_unit '%s'; use SECONDS or MILLISECONDS since 1970, DAYS, or DATE "
            "for numbers like 20260131",
            data->clock_unit);
    else if (cr_conf_has(data, "clock_unit") && !*data->clock_field)
        cr_diag_add(diag, CR_SEV_WARN, CR_ECONF, cr_conf_at(data, "clock_unit"),
                    "clock_unit has no effect without clock_field");
}

/* The number of days from 1970-01-01 to a date of the Gregorian calendar; years begin in March
 * here, so that the leap day is the last one. */
static double date_day(int64_t y, int64_t m, int64_t d) {
    static const int64_t length[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    if (m < 1 || m > 12 || d < 1 || d > length[m - 1] || (m == 2 && d == 29 && !leap)) return NAN;
    int64_t year = m > 2 ? y : y - 1, month = m > 2 ? m - 3 : m + 9;
    int64_t days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + d - 1;
    return (double)(days - 719468);
}

double cr_clock_day(cr_clock_unit unit, double x) {
    double day = unit == CR_CLOCK_SECONDS        ? floor(x / 86400)
                 : unit == CR_CLOCK_MILLISECONDS ? floor(x / 86400000)
                                                 : x;
    if (!isfinite(day) || day != floor(day) || fabs(day) > 1e9) return NAN;
    if (unit == CR_CLOCK_DAYS) return fabs(day) <= 1 << 24 ? day : NAN;
    if (unit == CR_CLOCK_DATE) {
        int64_t n = (int64_t)day;
        day = n > 0 ? date_day(n / 10000, n / 100 % 100, n % 100) : NAN;
    }
    /* from 1900-01-01 to 2200-01-01; other numbers are of another unit */
    return day >= -25567 && day < 84006 ? day : NAN;
}
