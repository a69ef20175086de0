"""Models that predict from tables and graphs: recommendation, graph networks."""

from __future__ import annotations

import itertools

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from family_models import family

FIELDS, VOCABULARY, WIDTH = 5, 13, 8
NODES, EDGES = 9, 20


def mlp(*widths):
    layers = [one for pair in itertools.pairwise(widths) for one in (nn.Linear(*pair), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def indices(*shape):
    return torch.randint(0, VOCABULARY, shape)


# Recommendation


@family
def wide_and_deep():
    """A linear model of crossed fields beside a deep one of embeddings."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.wide = nn.EmbeddingBag(VOCABULARY * VOCABULARY, 1, mode="sum")
            self.deep = nn.ModuleList(nn.Embedding(VOCABULARY, WIDTH) for _ in range(FIELDS))
            self.mlp = mlp(FIELDS * WIDTH + 3, 16, 1)

        def forward(self, ids, dense):
            crossed = ids[:, :-1] * VOCABULARY + ids[:, 1:]
            deep = [table(ids[:, field]) for field, table in enumerate(self.deep)]
            return (self.wide(crossed) + self.mlp(torch.cat([*deep, dense], 1))).sigmoid()

    return Model(), (indices(4, FIELDS), torch.randn(4, 3))


@family
def cross_network():
    """Deep and cross: `x0 · (W x) + x` of low rank, and experts of it with gates."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            size = FIELDS * WIDTH
            self.table = nn.Embedding(VOCABULARY, WIDTH)
            self.down, self.up, self.gate = (
                nn.ParameterList(nn.Parameter(torch.randn(*shape) / 4) for _ in range(2))
                for shape in ((2, size, 4), (2, 4, size), (size, 2))
            )
            self.deep, self.head = mlp(size, 16, 16), nn.Linear(size + 16, 1)

        def forward(self, ids):
            start = x = self.table(ids).flatten(1)
            for down, up, gate in zip(self.down, self.up, self.gate, strict=True):
                hidden = torch.tanh(torch.einsum("bs,esr->ber", x, down))
                experts = start[:, None] * torch.einsum("ber,ers->bes", hidden, up)
                x = x + torch.einsum("bes,be->bs", experts, (x @ gate).softmax(-1))
            return self.head(torch.cat([x, self.deep(start)], 1)).sigmoid()

    return Model(), (indices(4, FIELDS),)


@family
def factorization_machine():
    """Pairs of fields, each with its own embedding of the other's field."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tables = nn.ModuleList(
                nn.Embedding(FIELDS * VOCABULARY, WIDTH) for _ in range(FIELDS)
            )
            self.linear = nn.Embedding(FIELDS * VOCABULARY, 1)
            self.register_buffer("offsets", torch.arange(FIELDS) * VOCABULARY)

        def forward(self, ids):
            ids = ids + self.offsets
            views = [table(ids) for table in self.tables]
            pairs = [
                (views[j][:, i] * views[i][:, j]).sum(-1)
                for i in range(FIELDS)
                for j in range(i + 1, FIELDS)
            ]
            return torch.stack(pairs, 1).sum(1) + self.linear(ids).sum((1, 2))

    return Model(), (indices(4, FIELDS),)


@family
def compressed_interactions():
    """Outer products of fields, compressed by filters; as in xDeepFM."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(VOCABULARY, WIDTH)
            self.filters = nn.ModuleList([nn.Conv1d(FIELDS * n, 6, 1) for n in (FIELDS, 3)])
            self.head = nn.Linear(3 + 6, 1)

        def forward(self, ids):
            start = x = self.table(ids)
            kept = []
            for index, one in enumerate(self.filters):
                outer = torch.einsum("bfd,bgd->bfgd", start, x).flatten(1, 2)
                y = F.relu(one(outer))
                x, out = (y[:, :3], y[:, 3:]) if index == 0 else (y, y)
                kept.append(out.sum(-1))
            return self.head(torch.cat(kept, 1))

    return Model(), (indices(4, FIELDS),)


@family
def interest_network():
    """Attention of a candidate over a history with padding; as in DIN."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.items = nn.Embedding(VOCABULARY, WIDTH, padding_idx=0)
            self.attention, self.head = mlp(4 * WIDTH, 12, 1), mlp(2 * WIDTH, 12, 1)

        def forward(self, history, candidate):
            keys, query = self.items(history), self.items(candidate)[:, None]
            query = query.expand_as(keys)
            joined = torch.cat([query, keys, query - keys, query * keys], -1)
            scores = self.attention(joined).squeeze(-1).masked_fill(history == 0, -1e4)
            interest = (scores.softmax(-1)[..., None] * keys).sum(1)
            return self.head(torch.cat([interest, query[:, 0]], -1)).sigmoid()

    return Model(), (torch.tensor([[3, 5, 0, 0], [1, 2, 7, 0], [4, 4, 9, 12]]), indices(3))


@family
def gated_tasks():
    """Several tasks with gates over experts, some of their own; as in PLE."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.shared = nn.ModuleList(mlp(10, 12, 6) for _ in range(2))
            self.own = nn.ModuleList(mlp(10, 12, 6) for _ in range(2))
            self.gates = nn.ModuleList(nn.Linear(10, 3) for _ in range(2))
            self.towers = nn.ModuleList(mlp(6, 4, 1) for _ in range(2))

        def forward(self, x):
            found = []
            for own, gate, tower in zip(self.own, self.gates, self.towers, strict=True):
                outputs = torch.stack([own(x), *(one(x) for one in self.shared)], 1)
                found.append(tower((gate(x).softmax(-1)[..., None] * outputs).sum(1)))
            return torch.cat(found, 1).sigmoid()

    return Model(), (torch.randn(4, 10),)


@family
def two_towers():
    """Bags of words and users, normalised, with the best of all items."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.EmbeddingBag(VOCABULARY, WIDTH, mode="mean")
            self.users = nn.Embedding(VOCABULARY, WIDTH)
            self.left, self.right = mlp(WIDTH, 12, 6), mlp(WIDTH, 12, 6)

        def forward(self, user, items):
            left = F.normalize(self.left(self.users(user)), dim=-1)
            right = F.normalize(self.right(self.words(items)), dim=-1)
            return (left @ right.T / 0.1).topk(3, -1)

    return Model(), (indices(4), indices(7, 5))


@family
def autoencoder_of_ratings():
    """Multinomial scores of items from a normalised history; as in Mult-VAE."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = mlp(20, 16, 8), mlp(4, 16, 20)

        def forward(self, ratings):
            mean, _ = self.encoder(F.normalize(ratings)).chunk(2, -1)
            scores = self.decoder(torch.tanh(mean)).log_softmax(-1)
            return scores.masked_fill(ratings > 0, float("-inf")).max(-1)

    return Model(), ((torch.rand(3, 20) > 0.7).float(),)


# Graphs, by their edges


def edges():
    return torch.randint(0, NODES, (2, EDGES))


def degrees(target, x):
    return x.new_zeros(NODES).index_add(0, target, x.new_ones(EDGES))


class Convolution(nn.Module):
    """Sums of neighbours over the roots of the degrees, with loops."""

    def __init__(self, inside, outside):
        super().__init__()
        self.linear = nn.Linear(inside, outside)

    def forward(self, x, edge):
        """Takes features [nodes, inside] and edges [2, edges]."""
        source, target = edge
        scale = (degrees(target, x) + 1).rsqrt()
        y = self.linear(x)
        messages = y[source] * (scale[source] * scale[target])[:, None]
        return y * (scale**2)[:, None] + torch.zeros_like(y).index_add(0, target, messages)


@family
def residual_gcn():
    """Convolutions with the first features added to each; as in GCNII."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.head = nn.Linear(6, WIDTH), nn.Linear(WIDTH, 4)
            self.layers = nn.ModuleList(Convolution(WIDTH, WIDTH) for _ in range(3))

        def forward(self, x, edge):
            start = x = F.relu(self.first(x))
            for layer in self.layers:
                x = F.relu(layer(0.9 * x + 0.1 * start, edge))
            return self.head(x).log_softmax(-1)

    return Model(), (torch.randn(NODES, 6), edges())


@family
def graph_attention_2():
    """Attention of edges after the sum, a softmax over the edges of each node; as in GATv2."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.left, self.right = nn.Linear(6, 2 * 4), nn.Linear(6, 2 * 4)
            self.a = nn.Parameter(torch.randn(2, 4))

        def forward(self, x, edge):
            source, target = edge
            left, right = (one(x).unflatten(-1, (2, 4)) for one in (self.left, self.right))
            scores = (F.leaky_relu(left[source] + right[target], 0.2) * self.a).sum(-1)
            index = target[:, None].expand(-1, 2)
            top = torch.full((NODES, 2), -1e4, dtype=x.dtype).scatter_reduce(
                0, index, scores, "amax"
            )
            weights = (scores - top[target]).exp()
            total = torch.zeros(NODES, 2, dtype=x.dtype).scatter_add(0, index, weights)
            shares = weights / (total[target] + 1e-6)
            messages = (left[source] * shares[..., None]).flatten(1)
            return torch.zeros(NODES, 8, dtype=x.dtype).index_add(0, target, messages)

    return Model(), (torch.randn(NODES, 6), edges())


@family
def sampled_neighbours():
    """Maxima and means of sampled neighbours, and nodes normalised; as in GraphSAGE."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.pool, self.layer = nn.Linear(6, 6), nn.Linear(3 * 6, WIDTH)

        def forward(self, x, neighbours):
            rows = x[neighbours]
            most = F.relu(self.pool(rows)).amax(1)
            return F.normalize(F.relu(self.layer(torch.cat([x, most, rows.mean(1)], -1))), dim=-1)

    return Model(), (torch.randn(NODES, 6), torch.randint(0, NODES, (NODES, 4)))


@family
def edges_of_kinds():
    """A matrix for each kind of edge, made of bases, and means of neighbours; as in R-GCN."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.bases = nn.Parameter(torch.randn(2, 6, WIDTH) / 3)
            self.shares = nn.Parameter(torch.randn(3, 2))
            self.own = nn.Linear(6, WIDTH)

        def forward(self, x, edge, kind):
            source, target = edge
            weights = torch.einsum("kb,bio->kio", self.shares, self.bases)
            messages = torch.einsum("ei,eio->eo", x[source], weights[kind])
            total = torch.zeros(NODES, WIDTH, dtype=x.dtype).index_add(0, target, messages)
            return F.relu(self.own(x) + total / degrees(target, x).clamp(min=1)[:, None])

    return Model(), (torch.randn(NODES, 6), edges(), torch.randint(0, 3, (EDGES,)))


@family
def isomorphism_network():
    """Sums of neighbours and features of edges, norms of batches, a mean of each graph; as GINE."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.edge, self.eps = nn.Linear(3, 6), nn.Parameter(torch.tensor(0.1))
            self.mlp = nn.Sequential(
                nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 6)
            )

        def forward(self, x, edge, features, graph):
            source, target = edge
            messages = F.relu(x[source] + self.edge(features))
            y = self.mlp((1 + self.eps) * x + torch.zeros_like(x).index_add(0, target, messages))
            count = y.new_zeros(2).index_add(0, graph, y.new_ones(NODES))
            return y.new_zeros(2, 6).index_add(0, graph, y) / count[:, None]

    inputs = (torch.randn(NODES, 6), edges(), torch.randn(EDGES, 3))
    return Model(), (*inputs, torch.tensor([0] * 4 + [1] * 5))


@family
def message_passing_with_gru():
    """Gated updates of nodes by messages, several times; as in GGNN."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.message, self.cell = nn.Linear(WIDTH, WIDTH), nn.GRUCell(WIDTH, WIDTH)

        def forward(self, x, adjacency):
            for _ in range(3):
                x = self.cell(adjacency @ self.message(x), x)
            return x

    return Model(), (torch.randn(NODES, WIDTH), (torch.rand(NODES, NODES) > 0.6).float())


@family
def pooled_graph():
    """Nodes with the best scores are kept, weighted by them; as in TopK pooling."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.score, self.layer = nn.Linear(WIDTH, 1), nn.Linear(WIDTH, WIDTH)

        def forward(self, x, adjacency):
            x = F.relu(adjacency @ self.layer(x))
            scores, kept = self.score(x).squeeze(-1).topk(4)
            x = x[kept] * scores.tanh()[:, None]
            return F.relu(adjacency[kept][:, kept] @ self.layer(x)).mean(0)

    return Model(), (torch.randn(NODES, WIDTH), torch.rand(NODES, NODES))


@family
def knowledge_graph():
    """Scores of triples by rotations of complex embeddings; as in RotatE."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.things, self.angles = nn.Embedding(VOCABULARY, 8), nn.Embedding(3, 4)

        def forward(self, head, relation, tail):
            angle = self.angles(relation)
            real, imaginary = self.things(head).chunk(2, -1)
            cos, sin = angle.cos(), angle.sin()
            turned = torch.cat([real * cos - imaginary * sin, real * sin + imaginary * cos], -1)
            return 6 - (turned - self.things(tail)).unflatten(-1, (2, 4)).norm(dim=-2).sum(-1)

    return Model(), (indices(5), torch.randint(0, 3, (5,)), indices(5))
