#!/usr/bin/python3
"""amx_cycles.py - how long the BF16 products take on a CPU with AMX, counted, not measured.

  amx_cycles.py [--rows 256]

Counts the instructions that src/kern/x86/gemm_amx.c executes per block of C (32 x 32 sums) and multiplies them by
the cycles that one takes on an Intel Xeon of model 207 at 3 GHz. Prints the tables of docs/design/bf16.md: GFLOP/s
of each product with floats between products (each product converts what it reads) and with units (the product
before has written them), then rows/s of the layers of a DeepFM. An estimate: it knows neither cache misses beyond
the ones named below nor how well vector work hides; SEEN says what a prototype of the same loops reached of it.
"""
import argparse
import math

DOT = 16                            # one multiplication of tiles: 16 x 16 x 32
LOAD_L1, LOAD_L2 = 8.4, 21          # one tile of an operand
STORE_L1, LOAD_C, STORE_L2 = 20, 21, 64   # one tile of sums; these are not hidden
VECTOR = 1                          # vector operations per cycle that are free beside the tile unit
GHZ = 3 * 2.3 / 2.96                # the clock falls with what is multiplied: 2.2 to 2.35 TFLOP/s instead of 2.96
SEEN = 0.8                          # the prototype's forward products, 512 x 256 and 429 x 512, beside this count

TIMES = {1: 1, 2: 3, 3: 6}          # products of parts per block along k
LOADS = {1: (2, 2), 2: (4, 4), 3: (8, 8)}  # tiles of the left operand (L2, streamed) and of the right one (L1)

# Vector operations per row of 32 values, from units_int.h: adds, compares, moves, conversions and shuffles
LOAD_ROW = 2                        # masks and addresses
BIAS, RELU, BITS, MASK, FLOATS = 2, 4, 5, 5, 2


def rows_op(parts):
    return 2 * parts + 7 * (parts - 1)   # vcvtne2ps2bf16 is two; what is left for the next part is seven


def pairs_op(parts, fresh):
    return 2 * parts + (rows_op(parts) if fresh else 0)  # two shuffles of two cycles for two rows


def turned_op(parts):
    return 5 * parts                # eight quarters of 12 inserts and 8 shuffles per unit of 32 rows


def blocks(n):
    return math.ceil(n / 32)


def tiles(k, parts):
    """cycles of the tile unit for a block of C"""
    left, right = LOADS[parts]
    return blocks(k) * max(4 * DOT * TIMES[parts], left * LOAD_L2 + right * LOAD_L1)


def product(M, K, N, parts, epilogue):
    """left operand there; epilogue: vector operations per row of a block"""
    t = tiles(K, parts)
    return blocks(M) * blocks(N) * (t + 4 * STORE_L1 + max(0, 32 * epilogue / VECTOR - t))


def convert(M, K, ops):
    """outside of the tile loop: two vector operations per cycle, 64 bytes of a load from L2 in two cycles"""
    return M * blocks(K) * max(ops / 2, 4)


def layer(M, K, N, parts, units):
    """cycles of (forward, dX, dW) for y (M, N) = relu(x (M, K) W + b)"""
    floats = LOAD_ROW + FLOATS
    if units:
        fwd = product(M, K, N, parts, LOAD_ROW + BIAS + RELU + BITS + rows_op(parts) + pairs_op(parts, False))
        dx = product(M, N, K, parts, floats + MASK + rows_op(parts) + pairs_op(parts, False) + turned_op(parts))
    else:
        fwd = product(M, K, N, parts, floats + BIAS + RELU) + convert(M, K, rows_op(parts))
        dx = product(M, N, K, parts, floats + MASK) + convert(M, N, rows_op(parts))
    dw = blocks(K) * blocks(N) * (tiles(M, parts) + 4 * LOAD_C + 4 * STORE_L2)
    if not units:
        dw += convert(M, K, pairs_op(parts, True)) + convert(M, N, pairs_op(parts, True) + turned_op(parts))
    return fwd, dx, dw


def gflops(M, K, N, cycles):
    return 2 * M * K * N / cycles * GHZ * SEEN


def main():
    ap = argparse.ArgumentParser(description="cycles of BF16 products with AMX, counted")
    ap.add_argument("--rows", type=int, default=256)
    a = ap.parse_args()
    M, kinds = a.rows, {1: "BF16", 2: "BF16x3", 3: "BF16x6"}
    print(f"GFLOP/s of one core, {M} rows: floats between products / units")
    print("| | " + " | ".join(kinds.values()) + " |\n|---|---|---|---|")
    for K, N in ((429, 512), (512, 256), (256, 128), (145, 64)):
        for i, what in enumerate(("forward", "dX", "dW")):
            cells = [" / ".join(f"{gflops(M, K, N, layer(M, K, N, p, u)[i]):.0f}" for u in (False, True)) for p in kinds]
            print(f"| {K} × {N} {what} | " + " | ".join(cells) + " |")
    print("\nrows/s of two cores, forward and backward: floats between products / units")
    print("| layers | " + " | ".join(kinds.values()) + " |\n|---|---|---|---|")
    for widths in ([429, 512, 256, 128], [512, 256, 128], [367, 512, 256]):
        cells = []
        for p in kinds:
            rates = []
            for units in (False, True):
                cycles = sum(sum(layer(M, K, N, p, units)) for K, N in zip(widths, widths[1:]))
                rates.append(2 * M / (cycles / (GHZ * SEEN * 1e9)))
            cells.append(" / ".join(f"{r / 1e3:.0f}k" for r in rates))
        print("| " + "-".join(map(str, widths)) + " | " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    main()
