"""Frames of pandas as pickles, written without pandas: classes of the same names in modules of the same names.

frame(columns, protocol, new) gives the bytes. Columns are arrays of whole numbers, or lists of such arrays; `new` is the form since
pandas 1.3, whose blocks are made by _unpickle_block. Run: python3 tools/golden/frame.py FOLDER writes the samples of the tests.
"""

import copyreg
import io
import os
import pickle
import sys
import types

import numpy as np


def known(module, name, value=None):
    """A class, or the given function, by the name that pandas has for it."""
    for i, c in enumerate(module + "."):
        if c == ".":
            sys.modules.setdefault(module[:i], types.ModuleType(module[:i]))
    m = sys.modules[module]
    value = value or type(name, (), {})
    value.__module__, value.__qualname__, value.__name__ = module, name, name
    setattr(m, name, value)
    return value


DataFrame = known("pandas.core.frame", "DataFrame")
BlockManager = known("pandas.core.internals.managers", "BlockManager")
Index = known("pandas.core.indexes.base", "Index")
RangeIndex = known("pandas.core.indexes.range", "RangeIndex")
new_index = known("pandas.core.indexes.base", "_new_Index", lambda cls, d: None)
unpickle_block = known("pandas._libs.internals", "_unpickle_block", lambda *args: None)


class Pickler(pickle._Pickler):
    """Writes objects of other classes than their own, which the usual one refuses."""

    def save_reduce(self, func, args, state=None, *more, obj=None):
        if func is not copyreg.__newobj__:
            return super().save_reduce(func, args, state, *more, obj=obj)
        self.save(args[0])
        self.save(args[1:])
        self.write(pickle.NEWOBJ)
        self.memoize(obj)
        self.save(state)
        self.write(pickle.BUILD)


class Call:
    """Is written as a call."""

    def __init__(self, f, args):
        self.f, self.args = f, args

    def __reduce__(self):
        return self.f, self.args


class New:
    """Is written as an object that gets a state."""

    def __init__(self, cls, state):
        self.cls, self.state = cls, state

    def __reduce__(self):
        return copyreg.__newobj__, (self.cls,), self.state


def matrix(values):
    if values[0] is not None and not isinstance(values[0], list):
        return np.stack([np.asarray(v, dtype=np.int64) for v in values])
    out = np.empty((len(values), len(values[0])), dtype=object)
    for i, column in enumerate(values):
        for r, v in enumerate(column):
            out[i, r] = np.asarray(v, dtype=np.int64)
    return out


def frame(columns, protocol=4, new=False):
    names, kinds = list(columns), {}
    for i, n in enumerate(names):
        kinds.setdefault(isinstance(columns[n], list), []).append(i)
    blocks = []
    for places in kinds.values():
        values = matrix([columns[names[i]] for i in places])
        run = places == list(range(places[0], places[0] + len(places)))
        where = slice(places[0], places[-1] + 1, 1) if run else np.array(places, dtype=np.int64)
        blocks.append((values, where))
    axes = [Call(new_index, (Index, dict(data=np.array(names, dtype=object), name=None))),
            Call(new_index, (RangeIndex, dict(start=0, stop=blocks[0][0].shape[1], step=1, name=None)))]
    if new:
        manager = Call(BlockManager, (tuple(Call(unpickle_block, (v, w, 2)) for v, w in blocks), axes))
    else:
        state = (axes, [v for v, _ in blocks], [axes[0]] * len(blocks),
                 {"0.14.1": dict(axes=axes, blocks=[dict(values=v, mgr_locs=w) for v, w in blocks])})
        manager = New(BlockManager, state)
    out = New(DataFrame, dict(_mgr=manager, _typ="dataframe", _metadata=[], attrs={}))
    f = io.BytesIO()
    Pickler(f, protocol).dump(out)
    return f.getvalue()


USER = ["carrier", "consumptionAbility", "LBS", "age", "education", "gender", "house"]
LISTS = ["interest1", "interest2", "interest3", "kw1", "kw2", "topic1", "topic2"]
AD = ["advertiserId", "campaignId", "creativeSize", "adCategoryId", "productId", "productType"]


def audience(rng, aids, sizes, width=3):
    """A frame as metaheac has it: rows of the advertisements aids, and ids up to the given largest ones."""
    n = len(aids)
    out = dict(label=rng.integers(0, 2, n), aid=np.array(aids))
    out.update({c: rng.integers(0, m + 1, n) for c, m in zip(USER, sizes[0])})
    out.update({c: [rng.integers(0, m + 1, width) for _ in range(n)] for c, m in zip(LISTS, sizes[1])})
    out.update({c + "_length": rng.integers(0, width + 1, n) for c in LISTS})
    of = {a: [rng.integers(0, m + 1) for m in sizes[2]] for a in sorted(set(aids))}
    out.update({c: np.array([of[a][i] for a in aids]) for i, c in enumerate(AD)})
    return out


if __name__ == "__main__":
    rng = np.random.default_rng(7)
    sizes = [[3, 2, 9, 5, 7, 2, 1], [4, 5, 3, 9, 6, 5, 5], [3, 4, 2, 3, 3, 1]]
    for name, protocol, new in (("audience_4.pkl", 4, False), ("audience_new_5.pkl", 5, True)):
        with open(os.path.join(sys.argv[1], name), "wb") as f:
            f.write(frame(audience(rng, [7] * 5 + [12] * 4 + [3] * 4, sizes), protocol, new))
