/*
 * png_make.c - png_make FILE WIDTH HEIGHT < numbers: a grey picture of 8 bits. Numbers from 0 to
 * 255, line by line.
 */
#include <png.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    long w = atol(argv[2]), h = atol(argv[3]);
    if (w < 1 || h < 1 || w > 1000 || h > 1000) return 2;
    unsigned char *v = calloc((size_t)(w * h), 1);
    int x;
    for (long i = 0; v && i < w * h && scanf("%d", &x) == 1; i++)
        v[i] = (unsigned char)x;
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)w,
                       .height = (png_uint_32)h,
                       .format = PNG_FORMAT_GRAY};
    int ok = v && png_image_write_to_file(&image, argv[1], 0, v, 0, NULL);
    free(v);
    return !ok;
}
