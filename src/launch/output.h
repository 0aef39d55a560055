/*
 * output.h - what the ranks of a node print, and where it goes.
 *
 * By default ranks share the launcher's own stdout and stderr. --redirects, --tee and --log_dir
 * lead it through pipes: to files, with a prefix to the terminal, or both. The last line on stderr
 * that looks like an error is kept, because it may be what the user must read on another host.
 */
#ifndef CR_LAUNCH_OUTPUT_H
#define CR_LAUNCH_OUTPUT_H

#include "base/buf.h"
#include "base/log.h"

/* cr_say is a log line of the launcher itself. Where nobody takes it (a terminal that Ctrl-S holds,
 * a reader that stands still), it is left out: a launcher that waited would be taken for dead. */
void cr_say(cr_log_level level, const char *fmt, ...) CR_PRINTF(2, 3);

/* What -r, -t, --local_ranks_filter and --log_dir ask for; bits: 1 stdout, 2 stderr. */
typedef struct cr_output_plan {
    const char *log_dir;                  /* NULL: no files */
    const char *role;                     /* in prefixes: "[default0]:" */
    int n;                                /* local ranks */
    unsigned char *redirect, *tee, *show; /* per local rank */
} cr_output_plan;

/* cr_output_bits reads "3" or "0:1,1:3" into v[0 .. n-1]; flag is its name in messages. */
CR_CHECKED cr_code cr_output_bits(const char *flag, const char *text, unsigned char *v, int n,
                                  cr_err *err);
/* cr_output_ranks reads "0,2" and clears v of the others. */
CR_CHECKED cr_code cr_output_ranks(const char *text, unsigned char *v, int n, cr_err *err);

/* One stream of one rank: from a pipe to a file and to the terminal. */
typedef struct cr_outlet {
    int fd;      /* the pipe; -1: closed */
    int file;    /* -1: none */
    bool torn;   /* the file lacks something, and the user was told */
    cr_buf path; /* of the file */
    int console; /* -1: not shown */
    int slot;    /* in the poll */
    bool shown;  /* on the terminal, through us or directly */
    bool direct; /* ... directly, so that we do not know what was shown */
    char prefix[64];
    bool in_line;   /* the console is in the middle of a line of this stream */
    cr_buf pending; /* for the console */
    cr_buf line;    /* the line that has not ended */
    char last[512]; /* the last line that looks like an error */
} cr_outlet;

/* cr_outlet_open decides how stream `which` (1 or 2) of a rank is led. *child becomes the file
 * descriptor that the rank is to use, which the caller closes; -1: it keeps the launcher's. capture
 * makes a pipe also when the plan needs none. */
CR_CHECKED cr_code cr_outlet_open(cr_outlet *s, const cr_output_plan *plan, int which, int local,
                                  int rank, int attempt, bool capture, int *child, cr_err *err);
/* cr_outlet_read moves what is there; `ready`: the pipe has something. */
void cr_outlet_read(cr_outlet *s, bool ready);
/* cr_outlet_waits: is there something that the terminal has no room for? It is to be polled then.
 */
bool cr_outlet_waits(const cr_outlet *s);
/* cr_outlet_wants: is there room for more, so that the pipe is to be polled? */
bool cr_outlet_wants(const cr_outlet *s);
/* cr_outlet_catch_up takes what is in the pipe now, also when the terminal has no room for it. */
void cr_outlet_catch_up(cr_outlet *s);
/* cr_outlet_close moves what is left in the pipe first. A terminal or pipe that takes nothing for
 * *patience_ms is given up, and *patience_ms becomes 0: the streams of all ranks have it together.
 */
void cr_outlet_close(cr_outlet *s, int *patience_ms);

#endif
