/*
 * xml.h - the little of XML that answers of object stores need: elements by name, in order, without
 * attributes, comments or name spaces. Nothing is copied and nothing is trusted: a text that is no
 * XML has no elements.
 */
#ifndef CR_STORE_XML_H
#define CR_STORE_XML_H

#include "base/buf.h"

typedef struct cr_xml {
    const char *at, *end;
} cr_xml;

/* cr_xml_next finds the next element of a name in what is left of x, sets *in to its content and
 * moves x behind it. */
bool cr_xml_next(cr_xml *x, const char *name, cr_xml *in);
/* cr_xml_text writes the content of the first element of a name in x, with &amp; and its like
 * turned back; "": there is none. Returns its length, which may be more than size - 1 bytes: then
 * only those were written. */
size_t cr_xml_text(cr_xml x, const char *name, char *out, size_t size);
/* cr_xml_attribute adds the value of an attribute of a start tag [x.at, x.end), with its entities
 * turned back; false: there is none. */
bool cr_xml_attribute(cr_xml x, const char *name, cr_buf *out);
/* cr_xml_escape adds text so that it may stand in an element. */
void cr_xml_escape(cr_buf *out, const char *text);

#endif
