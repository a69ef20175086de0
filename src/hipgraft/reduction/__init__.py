"""Modules made smaller while a property holds: what `hipgraft-reduce` and the fuzzers search with.

`search` tries edits in chunks that halve, as delta debugging does. `edits` has the edits, `shapes`
the one that shrinks extents, and `validity` says what a smaller module must keep.
"""

from hipgraft.reduction.search import Reducer, Size

__all__ = ["Reducer", "Size"]
