/*
 * head_int.h - what head.c (faults, decisions, messages) and meet.c (which nodes take part) share.
 */
#ifndef CR_LAUNCH_HEAD_INT_H
#define CR_LAUNCH_HEAD_INT_H

#include "base/log.h"
#include "launch/head.h"

#define CR_HEAD_PING_S 1.0

/* ---- head.c ---- */

/* cr_head_tell sends a line to every agent, which prints it, also that of node 0. */
void cr_head_tell(cr_head *h, cr_log_level level, const char *fmt, ...) CR_PRINTF(3, 4);
void cr_head_enter(cr_head *h, cr_head_phase p, double now);
/* cr_head_stop tells all ranks to end by this signal. */
void cr_head_stop(cr_head *h, int sig, double now);
void cr_head_drop(cr_head *h, int i); /* forgets node i */
void cr_head_bye(cr_node *x, int code, const char *text);
/* cr_head_finish ends the job: BYE to all. */
void cr_head_finish(cr_head *h, int code, const char *text, double now);

/* ---- meet.c ---- */

/* cr_meet_join takes a JOIN. False: the node is to be dropped. */
bool cr_meet_join(cr_head *h, cr_node *x, const cr_msg *m, double now);
/* cr_meet_turn begins a generation when the nodes for it are there, or gives up waiting. */
void cr_meet_turn(cr_head *h, double now);
/* cr_meet_again: all ranks have ended, and the next generation is to begin. Nodes that leave are
 * dropped. */
void cr_meet_again(cr_head *h, double now);
/* cr_meet_take_in stops the ranks when nodes wait that came while they ran. */
void cr_meet_take_in(cr_head *h, double now);
/* cr_meet_may_leave: does the job go on without this node, where signal sig came? */
bool cr_meet_may_leave(const cr_head *h, const cr_node *x, int sig);
/* cr_meet_leave lets it go. False: it is to be dropped now. */
bool cr_meet_leave(cr_head *h, cr_node *x, int sig, double now);

#endif
