/*
 * self.h - where this program lies, and what starts it again.
 *
 * Usually both are /proc/self/exe. In the tarball of `make static` the program is started by the
 * loader beside it, and /proc/self/exe is that loader: the file of the program is then the one
 * whose code is mapped, and what starts it is `crank` in the folder above.
 */
#ifndef CR_BASE_SELF_H
#define CR_BASE_SELF_H

#include <stdbool.h>
#include <stddef.h>

#define CR_SELF_MAX 4096
/* cr_self_file writes the path of the program's file; false: the system does not tell. */
bool cr_self_file(char out[CR_SELF_MAX]);
/* cr_self_start writes the path to start it by. */
bool cr_self_start(char out[CR_SELF_MAX]);
/* cr_self_folder writes the folder of the tarball that this program runs from: `crank`, bin and
 * lib, with the C library. False: it runs with the libraries of the system. */
bool cr_self_folder(char out[CR_SELF_MAX]);

#endif
