/*
 * here.c - see here.h. run.sh is started in a session of its own, so that it outlives the shell of
 * the person who submits it; its number is the job's id. It leaves its exit code in `exit_code`,
 * and its output in job.log; `crank jobs stop` leaves the file `stopped`. The system gives numbers
 * of processes again, so a process is the job only when it runs the run.sh of this folder; another
 * one is never signalled.
 */
#include "submit/here.h"

#include <string.h>

cr_code cr_here_write(cr_submit *s, const char *line, cr_buf *b, cr_err *err) {
    const cr_place_conf *k = s->keys;
    const char *prepare = cr_arena_strndup(s->a, b->data ? b->data : "", b->n);
    cr_buf_reset(b);
    cr_buf_str(b, "#!/bin/sh\n# run.sh - what the job runs; job.sh starts it in the background.\n");
    cr_place_env(s, b);
    cr_buf_printf(b, "cd %s || exit 1\n", cr_sh(s->a, *k->work_dir ? k->work_dir : s->here));
    cr_buf_printf(b, "%s &\npid=$!\ntrap 'kill -TERM $pid' TERM INT\n", line);
    cr_buf_str(b, "wait $pid\ncode=$?\n"
                  "# a signal ends the first wait only\n"
                  "while kill -0 $pid 2>/dev/null; do wait $pid; code=$?; done\n");
    cr_buf_printf(b, "echo $code >%s\nexit $code\n",
                  cr_sh(s->a, cr_arena_printf(s->a, "%s/exit_code", s->dir)));
    CR_TRY(cr_folder_put(s, "run.sh", b, err));
    cr_buf_str(b, "#!/bin/sh\n# job.sh - starts the job; run it again after changes: sh job.sh\n"
                  "cd \"$(dirname \"$0\")\" || exit 1\n"
                  "if [ -s .answer ] && [ \"$(sh .jobs.sh state \"$(cat .answer)\")\" = RUNNING ]; "
                  "then\n"
                  "    echo \"the job runs already, as process $(cat .answer)\" >&2\n"
                  "    exit 1\n"
                  "fi\n"
                  "rm -f exit_code stopped\n");
    cr_buf_str(b, prepare);
    cr_buf_str(b, "setsid sh \"$(pwd -P)/run.sh\" >>job.log 2>&1 </dev/null &\necho $! "
                  ">.answer\ncat .answer\n");
    CR_TRY(cr_folder_put(s, "job.sh", b, err));
    cr_buf_str(b, "#!/bin/sh\n# .jobs.sh VERB ID - what 'crank jobs' asks about the job\n"
                  "# Another process may have got the number of one that has ended.\n"
                  "runs() {\n"
                  "    [ ! -s exit_code ] && tr '\\0' '\\n' 2>/dev/null <\"/proc/$1/cmdline\" |\n"
                  "        grep -qxF \"$(pwd -P)/run.sh\"\n"
                  "}\n"
                  "case $1 in\n"
                  "state)\n"
                  "    if [ -s exit_code ] && [ \"$(cat exit_code)\" -eq 0 ]; then echo COMPLETED\n"
                  "    elif [ -s exit_code ] && [ -e stopped ]; then echo STOPPED\n"
                  "    elif [ -s exit_code ]; then echo FAILED\n"
                  "    elif runs \"$2\" 2>/dev/null; then echo RUNNING\n"
                  "    else echo LOST; fi\n"
                  "    ;;\n"
                  "logs) cat job.log ;;\n"
                  "follow)\n"
                  "    tail -n +1 -f job.log &\n"
                  "    tail=$!\n"
                  "    trap 'kill $tail; exit 130' INT TERM\n"
                  "    while runs \"$2\" 2>/dev/null; do sleep 0.2; done\n"
                  "    sleep 0.5\n"
                  "    kill $tail\n"
                  "    ;;\n"
                  "stop)\n"
                  "    runs \"$2\" 2>/dev/null || { echo \"the job does not run\" >&2; exit 1; }\n"
                  "    : >stopped\n"
                  "    kill -TERM \"$2\"\n"
                  "    for i in $(seq 600); do\n"
                  "        runs \"$2\" 2>/dev/null || exit 0\n"
                  "        sleep 0.1\n"
                  "    done\n"
                  "    kill -KILL \"-$2\"\n"
                  "    ;;\n"
                  "esac\n");
    return cr_folder_put(s, ".jobs.sh", b, err);
}

const char *cr_here_answer(cr_submit *s, const char *text) {
    size_t n = strspn(text, "0123456789");
    return n && (text[n] == '\n' || !text[n]) ? cr_arena_strndup(s->a, text, n) : NULL;
}
