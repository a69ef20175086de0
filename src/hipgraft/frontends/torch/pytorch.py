"""Imports PyTorch, which is optional and untyped here.

Only modules that serve PyTorch graphs alone import this module.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

torch: Any = import_module("torch")
aten: Any = torch.ops.aten
Node: Any = torch.fx.Node
map_arg: Any = torch.fx.node.map_arg
make_fx: Any = import_module("torch.fx.experimental.proxy_tensor").make_fx

# IREE's wheel contains torch-mlir's importer for IREE's own bindings.
fx_importer: Any = import_module("iree.compiler.extras.fx_importer")
fx_decompositions: Any = import_module("torch_mlir.extras.fx_decomp_util")
tree_flatten: Any = torch.utils._pytree.tree_flatten
tree_unflatten: Any = torch.utils._pytree.tree_unflatten
