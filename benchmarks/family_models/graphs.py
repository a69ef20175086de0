"""Networks on graphs, points and molecules."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from family_models import family

NODES, EDGES = 12, 40


def _graph():
    return torch.randn(NODES, 8), torch.randint(0, NODES, (2, EDGES))


@family
def gcn():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(8, 16), nn.Linear(16, 4)])

        def forward(self, x, edges):
            source, target = edges
            ones = torch.ones(EDGES, dtype=x.dtype)
            degree = torch.ones(NODES, dtype=x.dtype).scatter_add(0, target, ones)
            norm = degree.rsqrt()
            weight = (norm[source] * norm[target])[:, None]
            for layer in self.layers:
                h = layer(x)
                x = F.relu(torch.zeros_like(h).index_add(0, target, h[source] * weight) + h)
            return x.log_softmax(-1)

    return Model(), _graph()


@family
def gat():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Linear(8, 4 * 6, bias=False)
            self.a = nn.Parameter(torch.randn(2, 4, 6))

        def forward(self, x, edges):
            source, target = edges
            h = self.w(x).view(NODES, 4, 6)
            left, right = (h * self.a[0]).sum(-1), (h * self.a[1]).sum(-1)
            scores = F.leaky_relu(left[source] + right[target], 0.2)
            at = target[:, None].expand(-1, 4)
            top = torch.full_like(left, -1e4).scatter_reduce(0, at, scores, "amax")
            scores = (scores - top[target]).exp()
            total = torch.zeros_like(left).scatter_add(0, at, scores)
            scores = scores / (total[target] + 1e-6)
            wide = target[:, None, None].expand(-1, 4, 6)
            return torch.zeros_like(h).scatter_add(0, wide, h[source] * scores[..., None]).mean(1)

    return Model(), _graph()


@family
def graph_sage():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.own, self.others = nn.Linear(8, 16), nn.Linear(8, 16)

        def forward(self, x, edges):
            source, target = edges
            at = target[:, None].expand(-1, 8)
            mean = torch.zeros_like(x).scatter_add(0, at, x[source])
            most = torch.zeros_like(x).scatter_reduce(0, at, x[source], "amax", include_self=False)
            return F.normalize(self.own(x) + self.others(mean + most), dim=-1)

    return Model(), _graph()


@family
def gin_pooled():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
            self.eps = nn.Parameter(torch.zeros(1))
            self.head = nn.Linear(8, 2)

        def forward(self, x, edges, graph):
            around = torch.zeros_like(x).index_add_(0, edges[1], x[edges[0]])
            x = self.net((1 + self.eps) * x + around)
            pooled = torch.zeros(3, 8, dtype=x.dtype).index_add(0, graph, x)
            return self.head(pooled)

    return Model(), (*_graph(), torch.arange(NODES) // 4)


@family
def schnet():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(10, 16)
            self.filters = nn.Sequential(nn.Linear(12, 16), nn.Softplus(), nn.Linear(16, 16))
            self.out = nn.Sequential(nn.Linear(16, 8), nn.Softplus(), nn.Linear(8, 1))
            self.register_buffer("centres", torch.linspace(0, 5, 12))

        def forward(self, kinds, places):
            difference = places[:, None] - places[None]
            distance = (difference**2).sum(-1).add(1e-8).sqrt()
            rbf = torch.exp(-10 * (distance[..., None] - self.centres) ** 2)
            cut = 0.5 * (torch.cos(distance * torch.pi / 5) + 1) * (distance < 5)
            x = self.embedding(kinds)
            x = x + (x[None] * self.filters(rbf) * cut[..., None]).sum(1)
            return self.out(x).sum(0), torch.cdist(places, places)

    return Model(), (torch.randint(0, 10, (6,)), torch.randn(6, 3))


@family
def pointnet():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.t = nn.Sequential(nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.ReLU())
            self.t_head = nn.Linear(16, 9)
            self.body = nn.Sequential(nn.Conv1d(3, 32, 1), nn.BatchNorm1d(32), nn.ReLU())
            self.head = nn.Linear(32, 5)

        def forward(self, points):
            t = self.t_head(self.t(points).max(-1).values).view(-1, 3, 3)
            t = t + torch.eye(3, dtype=t.dtype)
            x = torch.bmm(points.transpose(1, 2), t).transpose(1, 2)
            return self.head(self.body(x).amax(-1)).log_softmax(-1)

    return Model(), (torch.randn(2, 3, 20),)


@family
def edge_conv():
    """The nearest neighbours of each point, and a maximum over them."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Sequential(nn.Conv2d(6, 16, 1), nn.BatchNorm2d(16), nn.LeakyReLU(0.2))

        def forward(self, x):
            inner = -2 * x.transpose(1, 2) @ x
            square = (x**2).sum(1, keepdim=True)
            near = (-square - inner - square.transpose(1, 2)).topk(4).indices
            batch, points = x.shape[0], x.shape[2]
            flat = (near + torch.arange(batch)[:, None, None] * points).reshape(-1)
            rows = x.transpose(1, 2).reshape(batch * points, 3)
            around = rows[flat].view(batch, points, 4, 3)
            own = rows.view(batch, points, 1, 3).expand(-1, -1, 4, -1)
            edges = torch.cat([around - own, own], -1).permute(0, 3, 1, 2)
            return self.conv(edges).max(-1).values

    return Model(), (torch.randn(2, 3, 16),)


@family
def furthest_points():
    """Sampling and grouping as in PointNet++."""

    class Model(nn.Module):
        def forward(self, x):
            batch, count, _ = x.shape
            distance = torch.full((batch, count), 1e4, dtype=x.dtype)
            last = torch.zeros(batch, dtype=torch.long)
            rows, chosen = torch.arange(batch), []
            for _ in range(4):
                chosen.append(last)
                far = ((x - x[rows, last][:, None]) ** 2).sum(-1)
                distance = torch.minimum(distance, far)
                last = distance.argmax(-1)
            centres = x[rows[:, None], torch.stack(chosen, 1)]
            square = torch.cdist(centres, x)
            order = torch.arange(count).expand(batch, 4, -1)
            order = order.masked_fill(square > 1.0, count)
            group = order.sort(-1).values[:, :, :5]
            group = torch.where(group == count, group[:, :, :1], group)
            return x[rows[:, None, None], group] - centres[:, :, None]

    return Model(), (torch.randn(2, 16, 3),)


@family
def egnn():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.message = nn.Sequential(nn.Linear(17, 16), nn.SiLU(), nn.Linear(16, 16), nn.SiLU())
            self.place, self.node = nn.Linear(16, 1, bias=False), nn.Linear(24, 8)

        def forward(self, h, x, edges):
            i, j = edges
            rel = x[i] - x[j]
            m = self.message(torch.cat([h[i], h[j], (rel**2).sum(-1, keepdim=True)], -1))
            x = x.index_add(0, i, rel * self.place(m))
            return self.node(
                torch.cat([h, torch.zeros(NODES, 16, dtype=h.dtype).index_add(0, i, m)], -1)
            ), x

    h, edges = _graph()
    return Model(), (h, torch.randn(NODES, 3), edges)


@family
def graph_transformer():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.degree, self.far = nn.Embedding(12, 16), nn.Embedding(8, 2)
            self.qkv, self.inside = nn.Linear(16, 48), nn.Linear(8, 16)

        def forward(self, x, paths):
            degree = (paths == 1).sum(-1).clamp(max=11)
            h = self.inside(x) + self.degree(degree)
            q, k, v = self.qkv(h).view(NODES, 3, 2, 8).unbind(1)
            scores = torch.einsum("ihd,jhd->hij", q, k) / 8**0.5
            scores = scores + self.far(paths.clamp(max=7)).permute(2, 0, 1)
            return torch.einsum("hij,jhd->ihd", scores.softmax(-1), v).flatten(1)

    return Model(), (torch.randn(NODES, 8), torch.randint(0, 9, (NODES, NODES)))


@family
def several_aggregators():
    """Messages of edges by mean, largest, smallest and spread, scaled by degrees; as in PNA."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.message, self.update = nn.Linear(2 * 4 + 2, 4), nn.Linear(4 + 2 * 4 * 4, 8)

        def forward(self, x, edges, features):
            source, target = edges.unbind(0)
            y = F.relu(self.message(torch.cat([x[source], x[target], features], -1)))
            index = target[:, None].expand(-1, 4)
            empty = torch.zeros_like(x)
            degree = torch.zeros_like(x[:, :1]).index_add(0, target, torch.ones_like(y[:, :1]))
            count = degree.clamp(min=1)
            mean = empty.index_add(0, target, y) / count
            square = empty.index_add(0, target, y * y) / count
            spread = (square - mean * mean).clamp(min=0).add(1e-5).sqrt()
            most = empty.scatter_reduce(0, index, y, "amax", include_self=False)
            least = empty.scatter_reduce(0, index, y, "amin", include_self=False)
            found = torch.cat([mean, most, least, spread], -1)
            return self.update(torch.cat([x, found, found * (degree + 1).log()], -1))

    edges = torch.tensor([[0, 1, 2, 3, 4, 0, 2], [1, 2, 0, 1, 3, 3, 4]])
    return Model(), (torch.randn(5, 4), edges, torch.randn(7, 2))


@family
def points_in_balls():
    """Points grouped by nearest neighbours, vector attention, and features handed back."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.enter, self.place = nn.Linear(3, 8), nn.Linear(3, 8)
            self.qkv, self.gate = (
                nn.Linear(8, 24),
                nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)),
            )

        def forward(self, points):
            x = self.enter(points)
            far = torch.cdist(points, points)
            near = far.topk(4, -1, largest=False).indices
            batch = torch.arange(points.shape[0])[:, None, None]
            q, k, v = self.qkv(x).chunk(3, -1)
            place = self.place(points[:, :, None] - points[batch, near])
            shares = self.gate(q[:, :, None] - k[batch, near] + place).softmax(2)
            y = (shares * (v[batch, near] + place)).sum(2)
            few = y[:, ::3]
            weights, rows = far[:, :, ::3].topk(2, -1, largest=False)
            weights = 1 / (weights + 1e-3)
            weights = weights / weights.sum(-1, keepdim=True)
            return x + (few[batch, rows] * weights[..., None]).sum(2)

    return Model(), (torch.randn(2, 9, 3),)
