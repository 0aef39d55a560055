/*
 * cmd_board.c - `crank board DIR...`: serves a page that shows runs while they train and after.
 */
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/board_watch.h"

#define LARGE (256 << 10) /* bytes of a block that goes back to the system when it is freed */

typedef struct args {
    cr_opt_list dirs;
    const char *host;
    int64_t port;
    bool read_only;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, dirs, CR_O_LIST, 0, CR_O_PATH, "DIR", NULL, ".", 0, 0,
            "model_dirs, or folders with model_dirs in them"),
    CR_OPT_INT(args, port, "PORT", "0", "7878, or a free one", 0, 65535, "port to serve at"),
    CR_OPT_STR(args, host, 0, "ADDRESS", "127.0.0.1",
               "address to serve at; any but this machine's own needs the token that is printed"),
    CR_OPT_BOOL(args, read_only, 0, "notes cannot be changed on the page"),
    CR_OPT_END,
};

/* Where the page is served at all addresses, the one that is printed is none that another machine
 * could open; the name of this machine is. */
static void say_elsewhere(const char *host, const char *url) {
    static const char *const every[] = {"0.0.0.0", "::"};
    char name[256];
    if (!host || gethostname(name, sizeof name) != 0 || memchr(name, 0, sizeof name) == NULL)
        return;
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(url, i ? "[::]" : every[0]);
        if (strcmp(host, every[i]) != 0 || !at) continue;
        cr_ui_say("from other machines at %.*s%s%s\n", (int)(at - url), url, name,
                  at + (i ? strlen("[::]") : strlen(every[0])));
    }
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *a = flags;
    static const char *const here[] = {"."};
    cr_board *b;
    cr_board_server *s;
    cr_err err;
    sigset_t ends, was;
    /* Each connection has a thread, and the C library keeps the blocks that a thread has freed for
     * that thread: ten answers about hundreds of runs would stay in memory ten times. */
    (void)mallopt(M_MMAP_THRESHOLD, LARGE);
    /* the threads of the server inherit this, and the signals come to the wait below */
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    cr_code code = cr_board_open(&b, a->dirs.n ? a->dirs.v : here, a->dirs.n ? a->dirs.n : 1, &err);
    if (code != CR_OK) return cr_ui_fail(ui, &err);
    pthread_sigmask(SIG_BLOCK, &ends, &was);
    cr_board_serve o = {.host = a->host,
                        .port = (int)a->port,
                        .token = cr_board_token(),
                        .read_only = a->read_only};
    code = cr_board_start(&s, b, &o, &err);
    if (code == CR_OK) {
        int sig, n = cr_board_runs(b);
        cr_board_hint();
        cr_ui_say("%d run%s at %s (Ctrl-C ends)\n", n, n == 1 ? "" : "s", cr_board_url(s));
        say_elsewhere(a->host, cr_board_url(s));
        cr_ui_flush();
        sigwait(&ends, &sig);
        cr_board_stop(s);
    } else {
        code = cr_ui_fail(ui, &err);
    }
    cr_board_close(b);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    return code;
}

static const char *const examples[] = {
    "crank board experiments",
    "crank board model_a model_b --port 8080",
    "crank board experiments --host 0.0.0.0",
    NULL,
};

const cr_cmd cr_cmd_board = {
    .name = "board",
    .help = "Show runs on a page in the browser, live",
    .about = "A DIR is a model_dir, or has some in it; new runs appear by themselves.\n"
             "The page is served on this machine only, unless --host says otherwise; then it asks\n"
             "for the token that is printed, or for CRANK_BOARD_TOKEN of the environment.\n",
    .operand = "DIR",
    .operand_opt = "dirs",
    .opts = opts,
    .args_size = sizeof(args),
    .examples = examples,
    .run = run,
};
