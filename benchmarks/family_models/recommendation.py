"""Recommendation, tables and series of numbers."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from family_models import family


class _Dlrm(nn.Module):
    """Bags of embeddings, and the products of all pairs."""

    def __init__(self, mode: str, *, offsets: bool):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(20, 8, mode=mode) for _ in range(3))
        self.bottom = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(14, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())
        rows, columns = torch.tril_indices(4, 4, -1)
        self.register_buffer("pairs", rows * 4 + columns)
        self.register_buffer("offsets", torch.arange(0, 12, 3) if offsets else None)

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        if self.offsets is None:
            bags = [table(ids) for table, ids in zip(self.tables, sparse, strict=True)]
        else:
            bags = [
                table(ids.reshape(-1), self.offsets)
                for table, ids in zip(self.tables, sparse, strict=True)
            ]
        t = torch.stack([x, *bags], 1)
        z = torch.bmm(t, t.transpose(1, 2)).flatten(1)[:, self.pairs]
        return self.top(torch.cat([x, z], 1))


@family
def dlrm():
    return _Dlrm("sum", offsets=False), (torch.randn(4, 5), torch.randint(0, 20, (3, 4, 3)))


@family
def dlrm_offsets():
    return _Dlrm("mean", offsets=True), (torch.randn(4, 5), torch.randint(0, 20, (3, 4, 3)))


@family
def weighted_bags():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.bag = nn.EmbeddingBag(20, 8, mode="sum", padding_idx=0)
            self.head = nn.Linear(8, 2)

        def forward(self, ids, weights):
            return self.head(self.bag(ids, per_sample_weights=weights))

    return Model(), (torch.randint(0, 20, (4, 5)), torch.rand(4, 5))


@family
def deepfm():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.embedding = nn.Embedding(60, 1), nn.Embedding(60, 8)
            self.register_buffer("starts", torch.tensor([0, 10, 30]))
            self.deep = nn.Sequential(
                nn.Linear(24, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1)
            )

        def forward(self, ids):
            ids = ids + self.starts
            e = self.embedding(ids)
            pairs = 0.5 * (e.sum(1) ** 2 - (e**2).sum(1)).sum(1, keepdim=True)
            return torch.sigmoid(self.linear(ids).sum(1) + pairs + self.deep(e.flatten(1)))

    return Model(), (torch.randint(0, 10, (4, 3)),)


@family
def sasrec():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.items, self.places = nn.Embedding(40, 16, padding_idx=0), nn.Embedding(12, 16)
            layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, activation="gelu")
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

        def forward(self, ids, candidates):
            x = self.items(ids) * 4 + self.places.weight
            mask = torch.full((12, 12), float("-inf")).triu(1)
            x = self.encoder(x, mask=mask.to(x.dtype), is_causal=True)
            return torch.einsum("bd,bkd->bk", x[:, -1], self.items(candidates))

    return Model(), (torch.randint(1, 40, (2, 12)), torch.randint(1, 40, (2, 7)))


@family
def two_tower():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.users, self.items = nn.Embedding(30, 16), nn.EmbeddingBag(40, 16)
            self.first, self.second = nn.Linear(16, 8), nn.Linear(16, 8)

        def forward(self, users, items):
            u = F.normalize(self.first(self.users(users)), dim=-1)
            v = F.normalize(self.second(self.items(items)), dim=-1)
            scores = u @ v.T / 0.07
            return scores.log_softmax(-1), scores.topk(2).indices

    return Model(), (torch.randint(0, 30, (4,)), torch.randint(0, 40, (5, 6)))


@family
def tabnet():
    def sparsemax(x):
        z, _ = x.sort(descending=True, dim=-1)
        steps = torch.arange(1, x.shape[-1] + 1, dtype=x.dtype)
        sums = z.cumsum(-1) - 1
        count = (z * steps > sums).sum(-1, keepdim=True)
        return (x - sums.gather(-1, count - 1) / count.to(x.dtype)).clamp(min=0)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(10)
            self.steps = nn.ModuleList(nn.Linear(10, 32) for _ in range(3))
            self.masks = nn.ModuleList(nn.Linear(16, 10) for _ in range(3))
            self.head = nn.Linear(16, 3)

        def forward(self, x):
            x = self.norm(x)
            prior, state, total = torch.ones_like(x), torch.zeros_like(x[:, :1]), 0
            state = state.expand(-1, 16)
            for step, mask in zip(self.steps, self.masks, strict=True):
                chosen = sparsemax(mask(state) * prior)
                prior = prior * (1.3 - chosen)
                out = F.glu(step(chosen * x))
                state = (state + out) * 0.7071
                total = total + F.relu(out)
            return self.head(total)

    return Model(), (torch.randn(4, 10),)


@family
def n_beats():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
            self.theta = nn.Linear(32, 8)
            t = torch.arange(36) / 36
            waves = [torch.cos(2 * torch.pi * i * t) for i in range(4)]
            waves += [torch.sin(2 * torch.pi * i * t) for i in range(4)]
            self.register_buffer("basis", torch.stack(waves))

        def forward(self, x):
            y = self.theta(self.body(x)) @ self.basis
            return y[:, :24], y[:, 24:]

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(Block() for _ in range(3))

        def forward(self, x):
            forecast = 0
            for block in self.blocks:
                back, front = block(x)
                x, forecast = x - back, forecast + front
            return forecast

    return Model(), (torch.randn(4, 24),)


@family
def patch_series():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Linear(8, 16)
            self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=True)
            self.head = nn.Linear(16 * 7, 6)

        def forward(self, x):
            mean, std = x.mean(1, keepdim=True), x.std(1, keepdim=True) + 1e-5
            x = ((x - mean) / std).transpose(1, 2).unfold(-1, 8, 4)
            batch, channels = x.shape[:2]
            y = self.layer(self.embed(x).flatten(0, 1)).flatten(1)
            return self.head(y).view(batch, channels, 6).transpose(1, 2) * std + mean

    return Model(), (torch.randn(2, 32, 3),)


@family
def autoformer():
    """Correlation by Fourier transforms, and the mean of moving windows."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(8, 8) for _ in range(3))

        def forward(self, x):
            q, k, v = self.q(x), self.k(x), self.v(x)
            spectrum = torch.fft.rfft(q, dim=1) * torch.conj(torch.fft.rfft(k, dim=1))
            lags = torch.fft.irfft(spectrum, n=x.shape[1], dim=1).mean(-1)
            weights, delays = lags.topk(3, dim=1)
            places = torch.arange(x.shape[1])[None, :, None]
            weights, total = weights.softmax(-1), 0
            for i in range(3):
                at = ((places + delays[:, None, i : i + 1]) % x.shape[1]).expand(-1, -1, 8)
                total = total + v.gather(1, at) * weights[:, i, None, None]
            padded = torch.cat([total[:, :1]] * 2 + [total] + [total[:, -1:]] * 2, 1)
            trend = F.avg_pool1d(padded.transpose(1, 2), 5, 1).transpose(1, 2)
            return total - trend, trend

    return Model(), (torch.randn(2, 16, 8),)


@family
def deepar():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.LSTM(3, 16, 2, batch_first=True)
            self.mean, self.scale = nn.Linear(16, 1), nn.Linear(16, 1)

        def forward(self, x):
            y, _ = self.rnn(x)
            return self.mean(y), F.softplus(self.scale(y))

    return Model(), (torch.randn(2, 10, 3),)
