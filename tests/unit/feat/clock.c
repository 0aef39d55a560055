/*
 * clock.c - the days of times: known dates, the ends of a day, and numbers that are no times.
 */
#include "feat/clock.h"

#include <math.h>

#include "harness.h"

TEST(known_days) {
    CHECK(cr_clock_day(CR_CLOCK_SECONDS, 0) == 0);
    CHECK(cr_clock_day(CR_CLOCK_SECONDS, 86399.5) == 0);
    CHECK(cr_clock_day(CR_CLOCK_SECONDS, 86400) == 1);
    CHECK(cr_clock_day(CR_CLOCK_SECONDS, -1) == -1);
    CHECK(cr_clock_day(CR_CLOCK_MILLISECONDS, 1735689600000.0) == 20089); /* 2025-01-01 */
    CHECK(cr_clock_day(CR_CLOCK_SECONDS, 1735689599) == 20088);
    CHECK(cr_clock_day(CR_CLOCK_DATE, 19700101) == 0);
    CHECK(cr_clock_day(CR_CLOCK_DATE, 20250101) == 20089);
    CHECK(cr_clock_day(CR_CLOCK_DATE, 20240229) == 19782);
    CHECK(cr_clock_day(CR_CLOCK_DATE, 20240301) == 19783);
    CHECK(cr_clock_day(CR_CLOCK_DATE, 19691231) == -1);
    CHECK(cr_clock_day(CR_CLOCK_DAYS, 12) == 12);
}

/* each date of 300 years follows the one before it */
TEST(every_date) {
    static const int length[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    double day = -25567;
    for (int y = 1900; y < 2200; y++)
        for (int m = 1; m <= 12; m++) {
            bool leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
            int n = length[m - 1] + (m == 2 && leap);
            for (int d = 1; d <= n; d++)
                CHECK(cr_clock_day(CR_CLOCK_DATE, y * 10000 + m * 100 + d) == day++);
            CHECK(isnan(cr_clock_day(CR_CLOCK_DATE, y * 10000 + m * 100 + n + 1)));
        }
}

TEST(no_times) {
    CHECK(isnan(cr_clock_day(CR_CLOCK_SECONDS, 1735689600000.0))); /* milliseconds */
    CHECK(isnan(cr_clock_day(CR_CLOCK_SECONDS, NAN)));
    CHECK(isnan(cr_clock_day(CR_CLOCK_SECONDS, INFINITY)));
    CHECK(isnan(cr_clock_day(CR_CLOCK_DATE, 20251301)));
    CHECK(isnan(cr_clock_day(CR_CLOCK_DATE, 0)));
    CHECK(isnan(cr_clock_day(CR_CLOCK_DATE, 1735689600)));
    CHECK(isnan(cr_clock_day(CR_CLOCK_DAYS, 1.5)));
    CHECK(isnan(cr_clock_day(CR_CLOCK_DAYS, 1e8)));
    CHECK_INT(cr_clock_unit_of("DATE"), CR_CLOCK_DATE);
    CHECK_INT(cr_clock_unit_of("date"), CR_CLOCK_NONE);
}

TEST_MAIN(CASE(known_days), CASE(every_date), CASE(no_times))
