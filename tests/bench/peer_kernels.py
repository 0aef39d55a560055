"""peer_kernels.py - prints one JSON object: the versions of PyTorch and of the libraries below it, and the kernels that these
chose on this CPU. Runs in the folder of the peers, with their openblas.py, as peer_torch.py does.
"""
import ctypes
import json
import sys

sys.path.insert(0, ".")
import openblas  # noqa: F401  before numpy and torch
import numpy  # noqa: F401
import torch

# dnnl_cpu_isa_t of oneDNN 2
ISA = {0x1: "SSE4.1", 0x3: "AVX", 0x7: "AVX2", 0x407: "AVX2 with VNNI", 0x27: "AVX-512", 0x67: "AVX-512 with VNNI",
       0xe7: "AVX-512 with BF16", 0x3e7: "AVX-512 with BF16 and AMX"}


def loaded(name):
    """libraries of this process whose names begin so"""
    with open("/proc/self/maps") as f:
        paths = {line.split()[-1] for line in f if "/" + name in line}
    return [ctypes.CDLL(p) for p in sorted(paths)]


def blas():
    for lib in loaded("libopenblas"):
        lib.openblas_get_corename.restype = lib.openblas_get_config.restype = ctypes.c_char_p
        return f"{' '.join(lib.openblas_get_config().decode().split()[:2])}, kernels {lib.openblas_get_corename().decode()}"
    return "of another library than OpenBLAS"


def onednn():
    for lib in loaded("libdnnl"):
        isa = lib.dnnl_get_effective_cpu_isa()
        return f"oneDNN, {ISA.get(isa, f'instruction set {isa:#x}')}"
    return "oneDNN inside of PyTorch" if torch.backends.mkldnn.is_available() else "without oneDNN"


print(json.dumps({"torch": torch.__version__, "blas": blas(), "onednn": onednn()}))
