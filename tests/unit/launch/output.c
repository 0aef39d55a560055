/*
 * output.c - where the output of ranks goes, and the line that is kept.
 */
#include "launch/output.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/file.h"
#include "harness.h"

static cr_err err;
static int patience = 1000;

TEST(numbers) {
    unsigned char v[3];
    CHECK_INT(cr_output_bits("tee", "3", v, 3, &err), CR_OK);
    CHECK(v[0] == 3 && v[2] == 3);
    CHECK_INT(cr_output_bits("tee", "0:1,2:3", v, 3, &err), CR_OK);
    CHECK(v[0] == 1 && v[1] == 0 && v[2] == 3);
    static const char *const wrong[] = {"4", "", "x", "0:4", "0:", ":1", "0:1,", "3:1", "-1:1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_INT(cr_output_bits("tee", wrong[i], v, 3, &err), CR_EUSAGE);
    CHECK_INT(cr_output_ranks("0,2", v, 3, &err), CR_OK);
    CHECK(v[0] == 3 && v[1] == 0 && v[2] == 3);
    CHECK_INT(cr_output_ranks("3", v, 3, &err), CR_EUSAGE);
    CHECK_INT(cr_output_ranks("", v, 3, &err), CR_EUSAGE);
}

TEST(last_error) {
    unsigned char none[1] = {0}, all[1] = {3};
    cr_output_plan plan = {.role = "default", .n = 1, .redirect = none, .tee = none, .show = none};
    cr_outlet s;
    int child;
    static const char text[] = "[2026-01-01 00:00:00,000][INFO] all is well\n"
                               "data.csv:7: column 'x' is no number\n"
                               "[2026-01-01 00:00:00,000][WARNING] one more thing\n"
                               "Abort(1) on node 1 (rank 1 in comm 0): application called "
                               "MPI_Abort(MPI_COMM_WORLD, 1) - process 1\n";
    CHECK_INT(cr_outlet_open(&s, &plan, 2, 0, 0, 0, true, &child, &err), CR_OK);
    CHECK(child >= 0 && s.fd >= 0 && s.console < 0);
    CHECK_INT(write(child, text, sizeof text - 1), sizeof text - 1);
    cr_outlet_catch_up(&s);
    CHECK_STR(s.last, "data.csv:7: column 'x' is no number");
    CHECK_INT(write(child, "the end without a newline", 25), 25);
    close(child);
    cr_outlet_close(&s, &patience);
    CHECK_STR(s.last, "the end without a newline");
    plan.show = all; /* nothing to do: the rank writes to the terminal itself */
    CHECK_INT(cr_outlet_open(&s, &plan, 1, 0, 0, 0, false, &child, &err), CR_OK);
    CHECK(child < 0 && s.fd < 0 && s.shown);
    cr_outlet_close(&s, &patience);
}

TEST(files) {
    char dir[] = "/tmp/cr_outletXXXXXX", path[64], got[64];
    unsigned char none[2] = {0, 0}, both[2] = {3, 3};
    if (!mkdtemp(dir)) SKIP("no folder for files");
    cr_output_plan plan = {
        .log_dir = dir, .role = "default", .n = 2, .redirect = both, .tee = none, .show = none};
    cr_outlet s;
    int child;
    CHECK_INT(cr_outlet_open(&s, &plan, 1, 1, 5, 2, false, &child, &err), CR_OK);
    CHECK_INT(write(child, "hello\n", 6), 6);
    close(child);
    cr_outlet_read(&s, true);
    cr_outlet_close(&s, &patience);
    snprintf(path, sizeof path, "%s/attempt_2/5/stdout.log", dir);
    FILE *file = fopen(path, "r");
    CHECK(file && fgets(got, sizeof got, file) && strcmp(got, "hello\n") == 0);
    if (file) fclose(file);
    CHECK_INT(cr_rmtree(dir, &err), CR_OK);
}

/* A reader that has left does not make the rank wait: its output goes on to the file. */
TEST(reader_left) {
    unsigned char none[1] = {0}, all[1] = {3};
    cr_output_plan plan = {.role = "default", .n = 1, .redirect = none, .tee = none, .show = all};
    cr_outlet s;
    int child, ends[2];
    static char much[1 << 16];
    CHECK_INT(pipe2(ends, O_NONBLOCK), 0);
    while (write(ends[1], much, sizeof much) > 0) {
    }
    CHECK_INT(cr_outlet_open(&s, &plan, 2, 0, 0, 0, true, &child, &err), CR_OK);
    s.console = ends[1];
    CHECK_INT(write(child, "words\n", 6), 6);
    cr_outlet_read(&s, true);
    CHECK(cr_outlet_waits(&s) && !cr_outlet_wants(&s));
    close(ends[0]);
    signal(SIGPIPE, SIG_IGN);
    cr_outlet_read(&s, false);
    CHECK(!cr_outlet_waits(&s) && cr_outlet_wants(&s));
    close(child);
    cr_outlet_close(&s, &patience);
    close(ends[1]);
}

/* A line of the launcher is left out where writing it would wait. */
TEST(say) {
    int ends[2], old = dup(2);
    static char much[1 << 16];
    CHECK_INT(pipe2(ends, O_NONBLOCK), 0);
    while (write(ends[1], much, sizeof much) > 0) {
    }
    CHECK_INT(fcntl(ends[1], F_SETFL, 0), 0);
    dup2(ends[1], 2);
    alarm(20); /* it would wait for ever */
    cr_say(CR_LOG_WARN, "nobody reads this");
    alarm(0);
    dup2(old, 2);
    close(old);
    close(ends[0]);
    close(ends[1]);
}

/* Two ranks whose output nobody reads are waited for once. */
TEST(nobody_reads) {
    unsigned char none[1] = {0}, all[1] = {3};
    cr_output_plan plan = {.role = "default", .n = 1, .redirect = none, .tee = none, .show = all};
    cr_outlet s[2];
    int child, ends[2];
    static char much[1 << 16];
    CHECK_INT(pipe2(ends, O_NONBLOCK), 0);
    while (write(ends[1], much, sizeof much) > 0) {
    }
    int left = 300;
    for (int i = 0; i < 2; i++) {
        CHECK_INT(cr_outlet_open(&s[i], &plan, 2, 0, 0, 0, true, &child, &err), CR_OK);
        s[i].console = ends[1];
        CHECK_INT(write(child, "words\n", 6), 6);
        close(child);
    }
    for (int i = 0; i < 2; i++) {
        cr_outlet_close(&s[i], &left);
        CHECK_INT(left, 0);
        CHECK_STR(s[i].last, "words");
    }
    close(ends[0]);
    close(ends[1]);
}

TEST_MAIN(CASE(numbers), CASE(last_error), CASE(files), CASE(reader_left), CASE(say),
          CASE(nobody_reads))
