/*
 * here.h - jobs that a process of this machine runs in the background: local.c and hosts.c.
 */
#ifndef CR_SUBMIT_HERE_H
#define CR_SUBMIT_HERE_H

#include "submit/submit_int.h"

/* cr_here_write writes run.sh (with `line` as its work), job.sh and .jobs.sh; b holds the lines of
 * job.sh that come before the start. */
CR_CHECKED cr_code cr_here_write(cr_submit *s, const char *line, cr_buf *b, cr_err *err);
/* cr_here_answer: the id is the number of the process group. */
const char *cr_here_answer(cr_submit *s, const char *text);

#endif
