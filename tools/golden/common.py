"""Writes the text format that tests/golden/golden.h reads."""

import os

import numpy as np

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden", "data")


class Writer:
    def __init__(self, rel, about):
        path = os.path.join(DATA, rel)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        self.file = open(path, "w")
        self.file.write("# %s; written by tools/golden/, do not edit\n" % about)

    def add(self, name, value):
        value = np.asarray(value)
        form = "%.17g" if value.dtype == np.float64 else "%.9g"
        sizes = "".join(" %d" % d for d in value.shape)
        text = " ".join(form % x for x in value.reshape(-1))
        self.file.write("tensor %s%s : %s\n" % (name, sizes, text))

    def close(self):
        self.file.close()
