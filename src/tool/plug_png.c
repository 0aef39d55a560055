/*
 * plug_png.c - libpng behind the table of png.h; the plug-in png.so. The only file that includes
 * png.h of that library. Its simplified calls read any PNG as 8 bits per channel; sizes are checked
 * before memory is taken for them.
 */
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/png.h"

static bool wrong(char *why, size_t size, const char *what, const char *cause) {
    snprintf(why, size, "%s%s%s; copy it anew", what, *cause ? ": " : "", cause);
    return false;
}

static bool read_picture(const char *path, int64_t *h, int64_t *w, unsigned char **pixels,
                         char *why, size_t size) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_file(&image, path))
        return wrong(why, size, "it is no PNG", image.message);
    if (image.width == 0 || image.height == 0 || image.width > CR_PNG_MOST ||
        image.height > CR_PNG_MOST) {
        png_image_free(&image);
        return wrong(why, size, "it has more than 16384 lines or columns, or none", "");
    }
    image.format = PNG_FORMAT_BGRA;
    size_t n = (size_t)image.width * image.height;
    unsigned char *all = malloc(4 * n);
    if (!all) {
        png_image_free(&image);
        return wrong(why, size, "there is no memory for it", "");
    }
    if (!png_image_finish_read(&image, NULL, all, 0, NULL)) {
        free(all);
        return wrong(why, size, "it is damaged", image.message);
    }
    for (size_t i = 0; i < n; i++)
        all[i] = all[4 * i];
    *h = image.height;
    *w = image.width;
    *pixels = all;
    return true;
}

const cr_png_plug cr_png_plug_of = {.abi = CR_PNG_ABI, .read = read_picture};
