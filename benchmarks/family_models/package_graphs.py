"""Graph convolutions of the package torch_geometric, with random weights."""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import torch

from family_models import FAMILIES
from family_models.package_images import Calls

_CONVOLUTIONS: dict[str, dict[str, Any]] = {
    "GCNConv": {},
    "GATConv": {"heads": 2},
    "GATv2Conv": {"heads": 2},
    "SAGEConv": {},
    "GraphConv": {},
    "TransformerConv": {"heads": 2, "beta": False},
    "TAGConv": {},
    "SGConv": {"K": 2},
    "ChebConv": {"K": 3},
    "ARMAConv": {"num_stacks": 2},
    "APPNP": {},
    "ClusterGCNConv": {},
    "GENConv": {},
    "LEConv": {},
    "ResGatedGraphConv": {},
    "FiLMConv": {},
    "SuperGATConv": {},
    "EGConv": {"num_heads": 2},
    "GeneralConv": {},
    "FAConv": {},
    "MFConv": {},
    "FeaStConv": {},
    "SSGConv": {"alpha": 0.1, "K": 2},
    "GatedGraphConv": {},
    "AGNNConv": {},
    "AntiSymmetricConv": {},
    "PNAConv": {
        "aggregators": ["mean", "min", "max", "std"],
        "scalers": ["identity", "amplification"],
        "deg": torch.tensor([0, 3, 5, 4]),
    },
}


def _graph(name: str) -> tuple[Any, tuple[Any, ...]]:
    kind = getattr(importlib.import_module("torch_geometric.nn"), name)
    options = _CONVOLUTIONS[name]
    sizes = {
        "GatedGraphConv": {"out_channels": 16, "num_layers": 2},
        "APPNP": {"K": 2, "alpha": 0.1},
        "AGNNConv": {},
        "FAConv": {"channels": 16},
        "AntiSymmetricConv": {"in_channels": 16},
    }.get(name, {"in_channels": 16, "out_channels": 8})
    model = kind(**sizes, **options)
    edges = torch.randint(0, 12, (2, 40))

    def call(model: Any, x: Any, edges: Any) -> Any:
        return model(x, x, edges) if name == "FAConv" else model(x, edges)

    return Calls(model, call), (torch.randn(12, 16), edges)


FAMILIES.update({f"pyg_{one.lower()}": partial(_graph, one) for one in _CONVOLUTIONS})
