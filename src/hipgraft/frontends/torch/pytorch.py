"""PyTorch, which is optional: what hipgraft uses of it. It has no types here.

Only modules that nothing but graphs of PyTorch needs import this one.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

torch: Any = import_module("torch")
aten: Any = torch.ops.aten
Node: Any = torch.fx.Node
map_arg: Any = torch.fx.node.map_arg
make_fx: Any = import_module("torch.fx.experimental.proxy_tensor").make_fx

# Of torch-mlir, whose importer IREE's wheel ships in its own bindings.
fx_importer: Any = import_module("iree.compiler.extras.fx_importer")
fx_decompositions: Any = import_module("torch_mlir.extras.fx_decomp_util")
