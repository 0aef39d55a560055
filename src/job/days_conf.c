/*
 * days_conf.c - train_config.daily: training day by day and pass by pass, as PaddleRec's online
 * trainer does it. Names and defaults are its own.
 *
 * A day has 24 h / split_interval folders <data_dir>/<YYYYMMDD>/<HHMM>, and a pass reads
 * split_per_pass of them. For the training loop a pass is an epoch: pass number k of the run is
 * epoch k, so checkpoints and the order of rows need nothing new.
 */
#include <stdlib.h>

#include "base/buf.h"
#include "job/config.h"

#define MINUTES 1440

/* ---- dates ---- */

/* Returns the number of a day, counted from 0000-03-01, by the rules of the Gregorian calendar. */
static int64_t number_of(int64_t ymd) {
    int64_t y = ymd / 10000, m = ymd / 100 % 100, d = ymd % 100;
    y -= m <= 2;
    m += m <= 2 ? 9 : -3;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + d - 1;
}

static int64_t day_of(int64_t number) {
    int64_t era = number / 146097, doe = number % 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    int64_t d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9;
    return (era * 400 + yoe + (m <= 2)) * 10000 + m * 100 + d;
}

static bool is_day(int64_t ymd) {
    return ymd >= 10000101 && ymd <= 99991231 && ymd % 100 >= 1 && day_of(number_of(ymd)) == ymd;
}

int64_t cr_day_after(int64_t ymd) {
    return day_of(number_of(ymd) + 1);
}

/* ---- passes ---- */

int64_t cr_daily_passes(const cr_daily_conf *c) {
    return MINUTES / c->split_interval / c->split_per_pass;
}

int64_t cr_daily_total(const cr_daily_conf *c) {
    return (number_of(c->end_day) - number_of(c->start_day) + 1) * cr_daily_passes(c);
}

cr_pass cr_daily_pass(const cr_daily_conf *c, int64_t k) {
    int64_t per_day = cr_daily_passes(c);
    return (cr_pass){.day = day_of(number_of(c->start_day) + k / per_day),
                     .number = k % per_day + 1,
                     .ends_day = k % per_day + 1 == per_day};
}

int64_t cr_daily_find(const cr_daily_conf *c, int64_t day, int64_t pass) {
    return is_day(day) ? (number_of(day) - number_of(c->start_day)) * cr_daily_passes(c) + pass - 1
                       : -1;
}

const char *cr_daily_folder(const cr_daily_conf *c, int64_t k, int64_t i, cr_arena *a) {
    cr_pass p = cr_daily_pass(c, k);
    int64_t minute = ((p.number - 1) * c->split_per_pass + i) * c->split_interval;
    return cr_arena_printf(a, "%s/%08lld/%02lld%02lld", c->data_dir, (long long)p.day,
                           (long long)(minute / 60), (long long)(minute % 60));
}

bool cr_daily_checkpoint(const cr_daily_conf *c, int64_t done) {
    if (done <= 0) return false;
    cr_pass p = cr_daily_pass(c, done - 1);
    return p.ends_day || (c->checkpoint_per_pass > 0 && p.number % c->checkpoint_per_pass == 0);
}

/* ---- the message ---- */

#define INT(f, def, lo, hi, help) CR_INT(cr_daily_conf, f, def, lo, hi, 0, help)
static const cr_field fields[] = {
    CR_STR(cr_daily_conf, data_dir, NULL, CR_F_REQUIRED | CR_F_PATH,
           "folder of the days: it has <YYYYMMDD>/<HHMM>/ with the files of that time"),
    CR_INT(cr_daily_conf, start_day, 0, 0, 0, CR_F_REQUIRED, "first day, as 20260131"),
    CR_INT(cr_daily_conf, end_day, 0, 0, 0, CR_F_REQUIRED, "last day"),
    INT(split_interval, 5, 1, MINUTES, "minutes of data in a folder"),
    INT(split_per_pass, 1, 1, MINUTES, "folders of a pass"),
    INT(checkpoint_per_pass, 6, 0, CR_U32_MAX,
        "passes of a day between checkpoints; one follows the last pass of a day in any case"),
    INT(save_delta_frequency, 6, 0, CR_U32_MAX, "passes of a day between deltas; 0: none"),
    CR_BOOL(cr_daily_conf, save_first_base, false, 0, "save a base before the first pass"),
    CR_STR(cr_daily_conf, data_donefile, NULL, 0,
           "file in a folder that says that the folder is whole; not given: the folder itself"),
    INT(data_sleep_second, 10, 0, CR_U32_MAX, "seconds between two looks for data"),
    INT(data_wait_second, 0, 0, CR_U32_MAX,
        "seconds after which missing data ends the run; 0: never"),
    CR_BOOL(cr_daily_conf, evaluate, true, 0,
            "evaluate each pass before it is trained, with the weights that there are"),
    CR_STR(cr_daily_conf, output_dir, NULL, CR_F_PATH,
           "folder of bases, deltas and donefiles; not given: model_dir/daily"),
    INT(shard_num, 1000, 1, 99999, "text files of a table"),
    CR_END,
};

static void check(const void *self, cr_diag *diag) {
    const cr_daily_conf *c = self;
    const char *wrong = !is_day(c->start_day) ? "start_day"
                        : !is_day(c->end_day) ? "end_day"
                                              : NULL;
    if (wrong)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, wrong),
                    "%s is no day; write year, month and day, as in 20260131", wrong);
    else if (c->end_day < c->start_day)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "end_day"),
                    "end_day %lld comes before start_day %lld; exchange them",
                    (long long)c->end_day, (long long)c->start_day);
    if (MINUTES % c->split_interval != 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "split_interval"),
                    "split_interval %lld does not divide a day of 1440 minutes; use 5, 10, 15, 30, "
                    "60 or the like",
                    (long long)c->split_interval);
    else if (MINUTES / c->split_interval % c->split_per_pass != 0)
        cr_diag_add(diag, CR_SEV_ERROR, CR_ECONF, cr_conf_at(c, "split_per_pass"),
                    "split_per_pass %lld does not divide the %lld folders of a day; the last ones "
                    "would never be read",
                    (long long)c->split_per_pass, (long long)(MINUTES / c->split_interval));
}

const cr_msg cr_daily_msg = {
    .name = "DailyTraining",
    .help = "Training day by day and pass by pass",
    .fields = fields,
    .size = sizeof(cr_daily_conf),
    .ours = true,
    .check = check,
};
