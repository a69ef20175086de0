"""Corrects the tiles of attention over few keys.

In f32, or if 64 does not divide the number of keys, IREE 3.13.0 multiplies 16 of them at a time: 13
steps for the 208 keys of a padded ViT, each of which waits for the one before. One step over all
keys takes half the time. Each wavefront then has a tile of its own: 12 heads of 128 queries occupy
96 compute units instead of 24. Nothing is shared, so keys and values go to registers without LDS.
"""

from __future__ import annotations

import re
from math import prod

from hipgraft.codegen.iree.compilation_info import list_in, with_list
from hipgraft.codegen.iree.linalg_loops import loops_of, tensor
from hipgraft.codegen.target import Target
from hipgraft.ir.bindings import ir

ATTENTION = "iree_linalg_ext.online_attention"
"""IREE's op for attention."""

_CONFIG, _PRODUCTS, _TRANSLATION = "lowering_config", "decomposition_config", "translation_info"
_ROWS = 16
"""Queries of a tile, which one matrix instruction covers; a divisor of the keys."""

_MOST_KEYS, _MOST_DEPTH = 240, 128
"""The most keys, and elements of a head, whose products fit into the registers of a wavefront."""

_MANY_KEYS, _STEP = 256, 64
"""The most keys for which smaller tiles pay off, and the keys of a step if there are so many."""

_PROMOTED = re.compile(r"promote_operands = \[[\d, ]*\], promotion_types = \[[^]]*\](?=, subgroup)")


def correct_attention(function: ir.Operation, op: ir.Operation, target: Target) -> bool:
    """Sets the tiles of a dispatch's attention if it has few keys.

    Args:
        function: the function of the dispatch, after the phase `executable-configurations`.
        op: its attention.
        target: the target of the dispatch.

    Returns:
        Whether it did.
    """
    operands = list(op.operands)[:3]
    if not target.is_gfx9 or not all(tensor(value).has_static_shape for value in operands):
        return False
    (q, k, v, *_), (*_, out, _, _) = loops_of(op), loops_of(op)
    extents = {
        loop: extent
        for loops, value in zip((q, k, v), operands, strict=True)
        for loop, extent in zip(loops, tensor(value).shape, strict=True)
    }
    rows = [loop for loop in q if loop in out and loop not in k]
    keys = [loop for loop in k if loop in v and loop not in out]
    heads = [loop for loop in extents if loop not in rows + keys and (loop in q) + (loop in v) == 1]
    count = prod(extents[loop] for loop in keys)
    is_small = count <= _MANY_KEYS and max(extents[loop] for loop in heads) <= _MOST_DEPTH
    config, products = str(op.attributes[_CONFIG]), str(op.attributes[_PRODUCTS])
    is_matrix = "mma_kind" in products and count % _ROWS == 0
    if len(rows) != 1 or len(keys) != 1 or not is_matrix or not is_small:
        return False
    step = count if count <= _MOST_KEYS else _STEP
    for name, loop, extent in (("workgroup", rows[0], _ROWS), ("reduction", keys[0], step)):
        tile = list_in(config, name)
        tile[loop] = extent
        config = with_list(config, name, tile)
    products = _PROMOTED.sub("promote_operands = [], promotion_types = []", products)
    products = with_list(products, "subgroup_basis", [1] * len(extents))
    op.attributes[_CONFIG] = ir.Attribute.parse(config)
    op.attributes[_PRODUCTS] = ir.Attribute.parse(products)
    info = with_list(
        str(function.attributes[_TRANSLATION]), "workgroup_size", [target.wavefront_size, 1, 1]
    )
    function.attributes[_TRANSLATION] = ir.Attribute.parse(info)
    return True
