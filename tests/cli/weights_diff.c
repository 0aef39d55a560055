/*
 * weights_diff.c - weights_diff A B: says where two safetensors files differ first, and exits with
 * 1; exits with 0 when they are equal byte for byte. For same_weights of lib.sh.
 */
#include "../weights.h"

int main(int argc, char **argv) {
    char says[4096];
    if (argc != 3) {
        fprintf(stderr, "usage: weights_diff A B\n");
        return 2;
    }
    if (!weights_differ(argv[1], argv[2], says, sizeof(says))) return 0;
    puts(says);
    return 1;
}
