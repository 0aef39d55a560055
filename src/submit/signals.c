/*
 * signals.c - signals that would end crank (Ctrl-C) are noted instead, while something is under way
 * that must be ended or removed first: a program that runs, a folder that is half written.
 */
#include <signal.h>

#include "base/stop.h"
#include "submit/submit_int.h"

static const int ends[CR_N_SIGNALS] = {SIGINT, SIGTERM, SIGHUP};

static void on_end(int sig) {
    (void)sig;
    cr_stop_requested = 1;
}

/* What is ignored (nohup) stays so, and so does what another caller watches. */
void cr_signals_watch(cr_signals *v) {
    struct sigaction sa = {.sa_handler = on_end};
    sigemptyset(&sa.sa_mask);
    for (int i = 0; i < CR_N_SIGNALS; i++)
        if (sigaction(ends[i], NULL, &v->old[i]) == 0 && v->old[i].sa_handler == SIG_DFL)
            (void)sigaction(ends[i], &sa, NULL);
}

void cr_signals_leave(const cr_signals *v) {
    for (int i = 0; i < CR_N_SIGNALS; i++)
        (void)sigaction(ends[i], &v->old[i], NULL);
}
