"""Pickles in the form that pandas gives a DataFrame, without pandas: classes of its names that hold the same state."""

import sys
import types

import numpy as np


def named(module, name):
    """A class that a pickle names as module.name."""
    parts = module.split(".")
    for i in range(1, len(parts) + 1):
        sys.modules.setdefault(".".join(parts[:i]), types.ModuleType(".".join(parts[:i])))
    cls = type(name, (), {"__module__": module, "__getstate__": lambda self: self.state})
    setattr(sys.modules[module], name, cls)
    return cls


DataFrame = named("pandas.core.frame", "DataFrame")
BlockManager = named("pandas.core.internals.managers", "BlockManager")
Index = named("pandas.core.indexes.base", "Index")
RangeIndex = named("pandas.core.indexes.range", "RangeIndex")
new_index = named("pandas.core.indexes.base", "_new_Index")


class Axis:
    def __init__(self, cls, state):
        self.args = (cls, dict(state, name=None))

    def __reduce__(self):
        return new_index, self.args


def with_state(cls, state):
    made = cls()
    made.state = state
    return made


def frame(columns):
    """A DataFrame of named columns of numbers: those of one type are a block."""
    names, rows = list(columns), len(next(iter(columns.values())))
    axes = [Axis(Index, dict(data=np.array(names, dtype=object))), Axis(RangeIndex, dict(start=0, stop=rows, step=1))]
    blocks = []
    for kind in dict.fromkeys(v.dtype for v in columns.values()):
        at = [i for i, n in enumerate(names) if columns[n].dtype == kind]
        blocks.append(dict(values=np.asfortranarray([columns[names[i]] for i in at]), mgr_locs=np.array(at)))
    manager = with_state(BlockManager, (axes, [b["values"] for b in blocks], [], {"0.14.1": dict(axes=axes, blocks=blocks)}))
    return with_state(DataFrame, {"_mgr": manager, "_typ": "dataframe", "_metadata": [], "attrs": {}})
