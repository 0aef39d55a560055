/*
 * types.h - types of MaxCompute's tables and fields of Arrow.
 */
#ifndef CR_DATA_ODPS_TYPES_H
#define CR_DATA_ODPS_TYPES_H

#include "base/buf.h"
#include "data/arrow/ipc.h"

/* cr_odps_type adds the field of a type, "ARRAY<BIGINT>", with its children. Returns NULL, or why
 * it cannot. s->v has room for as many fields as the type has letters. */
const char *cr_odps_type(cr_arrow_schema *s, const char *name, const char *type, cr_arena *a);
/* cr_odps_type_text appends the type that a field has in a table; false: tables have none like
 * it. */
bool cr_odps_type_text(const cr_arrow_schema *s, int field, cr_buf *out);

#endif
