/*
 * lock.h - who trains in a model_dir, for those who only look; cr_ckpt_lock_dir takes the lock.
 */
#ifndef CR_CKPT_LOCK_H
#define CR_CKPT_LOCK_H

/* cr_ckpt_lock_look tells whether a process trains in model_dir, without taking the lock. UNKNOWN:
 * the file names an owner on another machine, and the lock does not show it. */
typedef enum cr_lock_state { CR_LOCK_FREE, CR_LOCK_HELD, CR_LOCK_UNKNOWN } cr_lock_state;
cr_lock_state cr_ckpt_lock_look(const char *model_dir);

#endif
