"""Mixtures of experts that compute all experts for all tokens, and mixtures that select tokens."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from family_models import FAMILIES

FEATURES, HIDDEN, EXPERTS, CHOSEN = 8, 12, 4, 2


def mlp():
    return nn.Sequential(nn.Linear(FEATURES, HIDDEN), nn.SiLU(), nn.Linear(HIDDEN, FEATURES))


class Gated(nn.Module):
    """`down(silu(gate(x)) · up(x))`, with a norm before."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(FEATURES)
        self.gate, self.up = (nn.Linear(FEATURES, HIDDEN, bias=False) for _ in range(2))
        self.down = nn.Linear(HIDDEN, FEATURES, bias=False)

    def forward(self, x):
        x = self.norm(x)
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Mixture(nn.Module):
    """A router and experts; a subclass combines them.

    Args:
        expert: makes one expert.
        chosen: number of experts of a token.
    """

    def __init__(self, expert=mlp, chosen=CHOSEN):
        super().__init__()
        self.chosen = chosen
        self.router = nn.Linear(FEATURES, EXPERTS, bias=False)
        self.experts = nn.ModuleList(expert() for _ in range(EXPERTS))

    def route(self, x):
        """Returns shares and indices of the chosen experts of tokens [T, H]: [T, K] each."""
        shares, chosen = self.router(x).softmax(-1).topk(self.chosen, -1)
        return shares / shares.sum(-1, keepdim=True), chosen

    def forward(self, x):
        tokens = x.reshape(-1, FEATURES)
        return self.mixed(tokens, *self.route(tokens)).reshape(x.shape)


class AllExperts(Mixture):
    """All experts compute all tokens; the shares of those that were not chosen are zero."""

    def mixed(self, x, shares, chosen):
        dense = torch.zeros(x.shape[0], EXPERTS, dtype=x.dtype).scatter(1, chosen, shares)
        return sum(dense[:, e, None] * expert(x) for e, expert in enumerate(self.experts))


class OneHot(Mixture):
    """Shares by one-hot vectors, and experts stacked for one product with `einsum`."""

    def mixed(self, x, shares, chosen):
        dense = (F.one_hot(chosen, EXPERTS).to(x.dtype) * shares[..., None]).sum(1)
        stacked = torch.stack([expert(x) for expert in self.experts], 1)
        return torch.einsum("te,teh->th", dense, stacked)


class TakenWeights(Mixture):
    """The weights of the chosen experts are gathered for each token."""

    def mixed(self, x, shares, chosen):
        first = torch.stack([one[0].weight for one in self.experts])[chosen]
        last = torch.stack([one[2].weight for one in self.experts])[chosen]
        hidden = F.relu(torch.einsum("th,tkih->tki", x, first))
        return torch.einsum("tki,tkhi,tk->th", hidden, last, shares)


class WhereAdd(Mixture):
    """Adds an expert's results for its tokens by `index_add_`, as in Mixtral."""

    def mixed(self, x, shares, chosen):
        y = torch.zeros_like(x)
        mask = F.one_hot(chosen, EXPERTS).permute(2, 1, 0)
        for e, expert in enumerate(self.experts):
            slot, token = torch.where(mask[e])
            y.index_add_(0, token, expert(x[token]) * shares[token, slot, None])
        return y


class ViewedTokens(Mixture):
    """Selects rows of a view with a dimension of 1, as Mixtral's first version."""

    def mixed(self, x, shares, chosen):
        y = torch.zeros_like(x)
        mask = F.one_hot(chosen, EXPERTS).permute(2, 1, 0)
        for e, expert in enumerate(self.experts):
            slot, token = torch.where(mask[e])
            rows = x[None, token].reshape(-1, FEATURES)
            y.index_add_(0, token, expert(rows) * shares[token, slot, None])
        return y


class ReadAndWrite(Mixture):
    """`y[token] += …`, which reads rows, adds, and writes them back."""

    def mixed(self, x, shares, chosen):
        y = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            token, slot = (chosen == e).nonzero(as_tuple=True)
            y[token] = y[token] + shares[token, slot].unsqueeze(-1) * expert(x[token])
        return y


class AnySlot(Mixture):
    """A mask of tokens, the shares from the row of scores."""

    def mixed(self, x, shares, chosen):
        y = torch.zeros_like(x)
        dense = torch.zeros(x.shape[0], EXPERTS, dtype=x.dtype).scatter(1, chosen, shares)
        for e, expert in enumerate(self.experts):
            token = (chosen == e).any(-1).nonzero().squeeze(-1)
            y = y.index_add(0, token, expert(x[token]) * dense[token, e][:, None])
        return y


class Repeated(Mixture):
    """Each token once for each of its experts, written by boolean masks, as DeepSeek trains."""

    def mixed(self, x, shares, chosen):
        rows = x.repeat_interleave(self.chosen, 0)
        y = torch.empty_like(rows).zero_()
        flat = chosen.flatten()
        for e, expert in enumerate(self.experts):
            y[flat == e] = expert(rows[flat == e])
        return (y.view(*chosen.shape, -1) * shares[..., None]).sum(1)


class Masked(Mixture):
    """`y[mask] = expert(x[mask])` with a mask of two dimensions, for one expert of each token."""

    def forward(self, x):
        shares, chosen = self.router(x).softmax(-1).max(-1)
        y = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            mask = chosen == e
            y[mask] = expert(x[mask])
        return y * shares[..., None]


class MaskedShares(Mixture):
    """`Masked`, with shares that the same mask selects."""

    def forward(self, x):
        shares, chosen = self.router(x).softmax(-1).max(-1)
        y = x.clone()
        for e, expert in enumerate(self.experts):
            mask = chosen == e
            y[mask] += expert(x[mask]) * shares[mask].unsqueeze(-1)
        return y


class IndexCopy(Mixture):
    """Switch transformers: one expert of each token, its rows written over the tokens."""

    def mixed(self, x, shares, chosen):
        y = x.clone()
        for e, expert in enumerate(self.experts):
            token = torch.nonzero(chosen[:, 0] == e).flatten()
            y[token] = expert(torch.index_select(x, 0, token)).to(x.dtype)
        return y * shares


class ScatterAdd(Mixture):
    """`scatter_add` with an index that is expanded along the features."""

    def mixed(self, x, shares, chosen):
        y = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            token, slot = torch.where(chosen == e)
            rows = expert(x.index_select(0, token)) * shares[token, slot].view(-1, 1)
            y = y.scatter_add(0, token[:, None].expand(-1, FEATURES), rows)
        return y


class SortedTokens(Mixture):
    """Tokens by a permutation: the selected positions are looked up in it."""

    def mixed(self, x, shares, chosen):
        count = chosen.numel()
        expert_of, order = chosen.flatten().topk(count, largest=False)
        token_of = order // self.chosen
        weight_of = shares.flatten()[order]
        y = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            at = torch.where(expert_of == e)[0]
            token = token_of[at]
            y.index_add_(0, token, expert(x[token]) * weight_of[at, None])
        return y


class Shared(WhereAdd):
    """A shared expert for all tokens beside the chosen ones, as in DeepSeek and Qwen."""

    def __init__(self):
        super().__init__(Gated)
        self.shared, self.gate = Gated(), nn.Linear(FEATURES, 1)

    def mixed(self, x, shares, chosen):
        return super().mixed(x, shares, chosen) + self.gate(x).sigmoid() * self.shared(x)


class HeadsExpert(nn.Module):
    """Attention among the heads of one token."""

    def __init__(self):
        super().__init__()
        self.norm, self.qkv = nn.LayerNorm(FEATURES), nn.Linear(FEATURES, 3 * FEATURES)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).view(-1, 3, 2, FEATURES // 2).unbind(1)
        return x + ((q @ k.transpose(1, 2)).softmax(-1) @ v).flatten(1)


KINDS = {
    "all": AllExperts,
    "one_hot": OneHot,
    "taken_weights": TakenWeights,
    "where_add": WhereAdd,
    "viewed_tokens": ViewedTokens,
    "read_and_write": ReadAndWrite,
    "any_slot": AnySlot,
    "repeated": Repeated,
    "masked": Masked,
    "masked_shares": MaskedShares,
    "index_copy": lambda: IndexCopy(chosen=1),
    "scatter_add": ScatterAdd,
    "sorted_tokens": SortedTokens,
    "shared": Shared,
    "heads": lambda: WhereAdd(HeadsExpert),
    "gated": lambda: WhereAdd(Gated),
    "many_chosen": lambda: WhereAdd(chosen=3),
}
"""The forms of mixtures, by name."""


def made(kind):
    return KINDS[kind](), (torch.randn(2, 5, FEATURES),)


for _name in KINDS:
    FAMILIES[f"experts_{_name}"] = lambda kind=_name: made(kind)
