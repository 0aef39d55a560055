/* The exact shape of a log line, levels, many threads; stderr goes to a file meanwhile. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <regex.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cpu.h"
#include "harness.h"

static int saved_stderr;
static FILE *catcher;

static void catch_stderr(void) {
    catcher = tmpfile();
    saved_stderr = dup(STDERR_FILENO);
    dup2(fileno(catcher), STDERR_FILENO);
}

/* release returns what was written, to be freed. */
static char *release_stderr(void) {
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    fseek(catcher, 0, SEEK_END);
    long n = ftell(catcher);
    char *text = calloc((size_t)n + 1, 1);
    rewind(catcher);
    if (fread(text, 1, (size_t)n, catcher) != (size_t)n) text[0] = 0;
    fclose(catcher);
    return text;
}

static bool matches(const char *text, const char *pattern) {
    regex_t re;
    if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) != 0) return false;
    bool ok = regexec(&re, text, 0, NULL, 0) == 0;
    regfree(&re);
    return ok;
}

#define STAMP "\\[[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2},[0-9]{3}\\]"

TEST(lines) {
    catch_stderr();
    errno = 77;
    CR_INFO("rows %d", 5);
    CR_WARN("w");
    cr_log(CR_LOG_ERROR, "e");
    CR_DEBUG("hidden");
    bool kept = errno == 77;
    cr_log_set_level(CR_LOG_DEBUG);
    CR_DEBUG("shown");
    cr_log_set_level(CR_LOG_OFF);
    cr_log(CR_LOG_ERROR, "hidden");
    cr_log_set_level(CR_LOG_INFO);
    char *text = release_stderr();
    CHECK(kept);
    CHECK(matches(text, "^" STAMP "\\[INFO\\] rows 5\n" STAMP "\\[WARNING\\] w\n" STAMP
                        "\\[ERROR\\] e\n" STAMP "\\[DEBUG\\] shown\n$"));
    free(text);
}

TEST(long_lines) {
    for (size_t len = 900; len < 1100; len++) {
        char big[1101];
        memset(big, 'x', len);
        big[len] = 0;
        catch_stderr();
        CR_INFO("%s", big);
        char *text = release_stderr(), *at = strchr(text, 'x');
        CHECK(at != NULL);
        CHECK_INT(strspn(at, "x"), len);
        CHECK_STR(at + len, "\n");
        free(text);
    }
}

TEST(progress_needs_a_terminal) {
    catch_stderr();
    cr_log_progress("10%");
    bool terminal = cr_log_is_terminal();
    cr_log_progress(NULL);
    char *text = release_stderr();
    CHECK(!terminal);
    CHECK_STR(text, "");
    free(text);
}

TEST(progress_on_a_terminal) {
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) SKIP("no pseudo terminal");
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (slave < 0) SKIP("no pseudo terminal");
    struct winsize w = {.ws_row = 5, .ws_col = 21};
    ioctl(slave, TIOCSWINSZ, &w);
    setenv("TERM", "xterm", 1);
    int saved = dup(STDERR_FILENO);
    dup2(slave, STDERR_FILENO);
    bool terminal = cr_log_is_terminal();
    cr_log_progress("0123456789abcdefghi\xc3\xa9more"); /* 20 columns: cut before the two bytes */
    CR_INFO("x");
    CR_INFO("y");
    cr_log_progress("again");
    cr_log_progress(NULL);
    cr_log_progress(NULL);
    dup2(saved, STDERR_FILENO);
    close(saved);
    char text[512] = {0};
    /* a terminal hands over what it has so far: read on until the last piece is there */
    ssize_t n = 0;
    struct pollfd ready = {.fd = master, .events = POLLIN};
    for (ssize_t k = 1; k > 0 && !strstr(text, "again\r\033[K") && poll(&ready, 1, 2000) > 0;
         n += k)
        k = read(master, text + n, sizeof(text) - 1 - (size_t)n);
    close(slave);
    close(master);
    CHECK(terminal && n > 0);
    CHECK(matches(text, "^\r\033\\[K0123456789abcdefghi\r\033\\[K" STAMP "\\[INFO\\] x\r\n" STAMP
                        "\\[INFO\\] y\r\n\r\033\\[Kagain\r\033\\[K$"));
}

static void *chatter(void *arg) {
    for (int i = 0; i < 200; i++)
        CR_INFO("thread %d line %03d end", *(int *)arg, i);
    return NULL;
}

TEST(threads_do_not_mix) {
    pthread_t t[4];
    int ids[4] = {0, 1, 2, 3};
    catch_stderr();
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, chatter, &ids[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    char *text = release_stderr();
    int n = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        int id, k, end = 0;
        const char *msg = strstr(line, "] thread");
        CHECK(msg && sscanf(msg, "] thread %d line %d end%n", &id, &k, &end) == 2 && end > 0 &&
              !msg[end]);
        n++;
    }
    CHECK_INT(n, 800);
    free(text);
}

TEST(level_names) {
    cr_log_level l = CR_LOG_OFF;
    CHECK(cr_log_level_from("DEBUG", &l) && l == CR_LOG_DEBUG);
    CHECK(cr_log_level_from("info", &l) && l == CR_LOG_INFO);
    CHECK(cr_log_level_from("Warning", &l) && l == CR_LOG_WARN);
    CHECK(cr_log_level_from("warn", &l) && l == CR_LOG_WARN);
    CHECK(cr_log_level_from("ERROR", &l) && l == CR_LOG_ERROR);
    CHECK(cr_log_level_from("CRITICAL", &l) && l == CR_LOG_ERROR);
    CHECK(!cr_log_level_from("loud", &l));
    CHECK(!cr_log_level_from("", &l));
}

static void *read_later(void *fd) {
    char text[64];
    usleep(100000);
    CHECK_INT(read(*(int *)fd, text, sizeof(text)), 6);
    return NULL;
}

/* a program that ends others waits for the one that reads its lines, but not for ever */
TEST(waits_for_the_reader) {
    int ends[2], was = dup(STDERR_FILENO);
    pthread_t reader;
    CHECK_INT(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    CHECK_INT(write(ends[1], "a line", 6), 6);
    double began = cr_now();
    cr_log_wait_read(0.05);
    CHECK(cr_now() - began >= 0.05);
    CHECK_INT(pthread_create(&reader, NULL, read_later, &ends[0]), 0);
    cr_log_wait_read(60);
    int unread = -1;
    CHECK_INT(ioctl(ends[0], FIONREAD, &unread), 0);
    CHECK_INT(unread, 0);
    pthread_join(reader, NULL);
    dup2(was, STDERR_FILENO);
    close(was), close(ends[0]), close(ends[1]);
    catch_stderr(); /* what is no pipe is not waited for */
    began = cr_now();
    CR_WARN("a line");
    cr_log_wait_read(60);
    free(release_stderr());
    CHECK(cr_now() - began < 30);
}

TEST_MAIN(CASE(lines), CASE(long_lines), CASE(progress_needs_a_terminal),
          CASE(progress_on_a_terminal), CASE(threads_do_not_mix), CASE(level_names),
          CASE(waits_for_the_reader))
