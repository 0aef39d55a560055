/*
 * secret.h - which settings are secrets, by their names. Their values are not printed.
 */
#ifndef CR_BASE_SECRET_H
#define CR_BASE_SECRET_H

#include <stdbool.h>

#include "base/mem.h"

/* cr_is_secret: is it a variable or a key such as AWS_SECRET_ACCESS_KEY, HADOOP_TOKEN or fs_ugi? */
bool cr_is_secret(const char *name);
/* cr_masked returns a text whose addresses show no secrets: "***" is in the place of values of
 * secret keys behind '?' (kafka://...?sasl.password=x) and of a password in front of '@'. A text
 * that has none is returned as it is. */
const char *cr_masked(cr_arena *a, const char *text);

#endif
