"""Reduces modules while a property holds, for `hipgraft-reduce` and the fuzzers.

`search` tries edits in chunks that halve, as delta debugging does. `edits` has the edits, `shapes`
shrinks extents, and `validity` defines the rules that a smaller module must keep.
"""

from hipgraft.reduction.search import Reducer, Size

__all__ = ["Reducer", "Size"]
