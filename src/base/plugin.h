/*
 * plugin.h - the user's own code from a shared library; plugin.c alone knows the dynamic linker.
 *
 * A library exports one object (not a function) per kind of plug-in, whose first member is an int:
 * the number of the interface it was compiled for. So no function of a library runs before its
 * number was compared, except for its constructors.
 *
 * A library can do anything that the user can, and configs and exports come from other people. So
 * nothing is loaded unless the user allowed it: all libraries of a command (cr_plugin_allow), or
 * single ones, whose SHA-256 digests are in a list of the user.
 */
#ifndef CR_BASE_PLUGIN_H
#define CR_BASE_PLUGIN_H

#include "base/err.h"

/* After cr_plugin_allow, every library that a config names may be loaded. Call it once, before any
 * job. */
void cr_plugin_allow(void);
/* cr_plugin_open loads the library at path (as open takes it: the system's library folders are not
 * searched) and puts the object `symbol`, whose first int is abi, into *out. A library stays loaded
 * until the program ends; opening it again gives the same one. header names the public header that
 * the library was compiled with, for messages. A library without permission is CR_ECONF, with a
 * cure. */
CR_CHECKED cr_code cr_plugin_open(const char *path, const char *symbol, int abi, const char *header,
                                  const void **out, cr_err *err);
/* cr_plugin_file finds a library of crank itself: the file `name` beside the program, or in
 * ../lib/crank as it is installed. `cure` tells the user what to do when there is no such file. */
CR_CHECKED cr_code cr_plugin_file(const char *name, const char *cure, char *path, size_t size,
                                  cr_err *err);
/* cr_plugin_own opens such a library, which needs no permission. Its names are visible to libraries
 * that it loads in turn. */
CR_CHECKED cr_code cr_plugin_own(const char *name, const char *symbol, int abi, const char *cure,
                                 void **out, cr_err *err);

#endif
