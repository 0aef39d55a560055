/*
 * png.h - a picture in a PNG file.
 *
 * The library (libpng) is a plug-in of its own, png.so, which is loaded when the first picture is
 * read; plug_png.c is the only file that includes its header.
 */
#ifndef CR_TOOL_PNG_H
#define CR_TOOL_PNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CR_PNG_ABI  1
#define CR_PNG_MOST 16384 /* lines and columns of a picture */

typedef struct cr_png_plug {
    int abi;
    /* read gives the first channel as OpenCV has them, which is blue, or grey: h lines of w numbers
     * of 8 bits, which the caller frees with `free`. false: `why` says what is wrong with it. */
    bool (*read)(const char *path, int64_t *h, int64_t *w, unsigned char **pixels, char *why,
                 size_t size);
} cr_png_plug;
extern const cr_png_plug cr_png_plug_of; /* what crank looks for in the library */

#endif
