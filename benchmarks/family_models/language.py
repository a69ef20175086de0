"""Language models with unusual attention, depth or memory, and models of sets."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from family_models import family


def rotated(x, base=100.0):
    """Rotates pairs of features, [..., T, D], by positions."""
    steps, size = x.shape[-2:]
    rates = base ** (-torch.arange(0, size, 2, dtype=torch.float32) / size)
    angles = (torch.arange(steps, dtype=torch.float32)[:, None] * rates).to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    pairs = [a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()]
    return torch.stack(pairs, -1).flatten(-2)


def heads(x, count):
    """`[B, T, count · D]` as `[B, count, T, D]`."""
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def joined(x):
    """`[B, H, T, D]` as `[B, T, H · D]`."""
    return x.transpose(1, 2).flatten(-2)


@family
def latent_attention():
    """Keys and values from a small latent, with a part that is rotated; as in DeepSeek."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.o = nn.Linear(16, 2 * 12), nn.Linear(16, 16)
            self.down, self.up = nn.Linear(16, 6 + 4), nn.Linear(6, 2 * 16)
            self.norm = nn.RMSNorm(6)

        def forward(self, x):
            plain, turned = heads(self.q(x), 2).split([8, 4], -1)
            latent, key = self.down(x).split([6, 4], -1)
            k, v = heads(self.up(self.norm(latent)), 2).split([8, 8], -1)
            key = rotated(key)[:, None].expand(-1, 2, -1, -1)
            q, k = torch.cat([plain, rotated(turned)], -1), torch.cat([k, key], -1)
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
            scores = (q @ k.mT / math.sqrt(12)).masked_fill(mask, float("-inf"))
            return self.o(joined(scores.softmax(-1) @ v))

    return Model(), (torch.randn(2, 7, 16),)


@family
def capped_windows():
    """Scores of a window of time, capped by a tanh; norms before and after; as in Gemma."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(11, 16)
            self.qkv, self.o = nn.Linear(16, 16 + 2 * 8, bias=False), nn.Linear(16, 16)
            self.gate, self.up, self.down = nn.Linear(16, 24), nn.Linear(16, 24), nn.Linear(24, 16)
            self.norms = nn.ModuleList(nn.RMSNorm(16) for _ in range(4))

        def forward(self, ids):
            x = self.embed(ids) * 4.0
            q, k, v = self.qkv(self.norms[0](x)).split([16, 8, 8], -1)
            q, k, v = rotated(heads(q, 4)), rotated(heads(k, 2)), heads(v, 2)
            k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
            scores = torch.tanh(q @ k.mT / 2.0 / 5.0) * 5.0
            t = torch.arange(ids.shape[1])
            far = t[:, None] - t[None]
            scores = scores.masked_fill((far < 0) | (far >= 3), -1e4)
            x = x + self.norms[1](self.o(joined(scores.softmax(-1) @ v)))
            y = self.norms[2](x)
            y = self.down(F.gelu(self.gate(y), approximate="tanh") * self.up(y))
            x = x + self.norms[3](y)
            return torch.tanh(x @ self.embed.weight.T / 30.0) * 30.0

    return Model(), (torch.randint(0, 11, (2, 6)),)


@family
def cached_decoder():
    """One step with a cache that is written at positions, ALiBi, and a parallel block."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.qkv = nn.LayerNorm(16), nn.Linear(16, 48)
            self.o, self.up, self.down = nn.Linear(16, 16), nn.Linear(16, 32), nn.Linear(32, 16)

        def forward(self, x, keys, values, position):
            y = self.norm(x)
            q, k, v = (heads(one, 4) for one in self.qkv(y).chunk(3, -1))
            at = position[:, None, None, None].expand(-1, 4, 1, 4)
            keys, values = keys.scatter(2, at, k), values.scatter(2, at, v)
            far = torch.arange(keys.shape[2])[None] - position[:, None]
            slopes = 2.0 ** -torch.arange(1, 5).to(x.dtype)
            bias = slopes[:, None, None] * far[:, None, None].to(x.dtype)
            scores = (q @ keys.mT / 2.0 + bias).masked_fill(far[:, None, None] > 0, -1e4)
            y = self.o(joined(scores.softmax(-1) @ values)) + self.down(F.relu(self.up(y)) ** 2)
            return x + y, keys, values

    caches = (torch.randn(2, 4, 9, 4), torch.randn(2, 4, 9, 4))
    return Model(), (torch.randn(2, 1, 16), *caches, torch.tensor([3, 8]))


@family
def mixture_of_depths():
    """A block for the tokens with the highest scores alone, written back where they were."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.score, self.block = nn.Linear(8, 1), nn.TransformerEncoderLayer(8, 2, 16, 0.0)

        def forward(self, x):
            weights, rows = self.score(x)[..., 0].topk(4, 1)
            rows, order = rows.sort(1)
            weights = weights.gather(1, order).sigmoid()
            picked = rows[..., None].expand(-1, -1, 8)
            y = self.block(x.gather(1, picked).transpose(0, 1)).transpose(0, 1)
            return x.scatter_add(1, picked, y * weights[..., None])

    return Model(), (torch.randn(2, 9, 8),)


@family
def encoder_with_buckets():
    """Biases by buckets of relative positions; norms without mean; as in T5."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.bias, self.qkv = nn.Embedding(8, 2), nn.Linear(8, 24, bias=False)
            self.norm, self.o = nn.RMSNorm(8), nn.Linear(8, 8, bias=False)

        def forward(self, x, lengths):
            t = torch.arange(x.shape[1])
            far = t[None] - t[:, None]
            small = far.abs()
            large = 2 + (small.clamp(min=1).float() / 2).log() / math.log(8.0) * 2
            bucket = torch.where(small < 2, small, large.long().clamp(max=3)) + (far > 0) * 4
            q, k, v = (heads(one, 2) for one in self.qkv(self.norm(x)).chunk(3, -1))
            scores = q @ k.mT + self.bias(bucket).permute(2, 0, 1)
            inside = t[None] < lengths[:, None]
            scores = scores.masked_fill(~inside[:, None, None], -1e4)
            y = x + self.o(joined(scores.softmax(-1) @ v))
            return (y * inside[..., None]).sum(1) / lengths[:, None]

    return Model(), (torch.randn(2, 6, 8), torch.tensor([6, 4]))


@family
def disentangled_attention():
    """Content to position and back, gathered by relative positions; as in DeBERTa."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(8, 8) for _ in range(3))
            self.places = nn.Parameter(torch.randn(8, 8))

        def forward(self, x):
            t = torch.arange(x.shape[1])
            near = (t[:, None] - t[None] + 4).clamp(0, 7)
            q, k, v = (heads(layer(x), 2) for layer in (self.q, self.k, self.v))
            pk, pq = (heads(layer(self.places)[None], 2) for layer in (self.k, self.q))
            index = near.expand(x.shape[0], 2, -1, -1)
            scores = q @ k.mT + (q @ pk.mT).gather(3, index)
            scores = scores + (k @ pq.mT).gather(3, index).mT
            return joined((scores / math.sqrt(12)).softmax(-1) @ v)

    return Model(), (torch.randn(2, 6, 8),)


@family
def set_transformer():
    """Attention to induced points, and pooling by a seed."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.points, self.seed = (
                nn.Parameter(torch.randn(3, 8)),
                nn.Parameter(torch.randn(1, 8)),
            )
            self.blocks = nn.ModuleList(
                nn.MultiheadAttention(8, 2, batch_first=True) for _ in range(3)
            )
            self.enter = nn.Linear(2, 8)

        def forward(self, x):
            x = self.enter(x)
            points = self.points[None].expand(x.shape[0], -1, -1)
            h = self.blocks[0](points, x, x, need_weights=False)[0]
            x = x + self.blocks[1](x, h, h, need_weights=False)[0]
            seed = self.seed[None].expand(x.shape[0], -1, -1)
            return self.blocks[2](seed, x, x)

    return Model(), (torch.randn(2, 9, 2),)


@family
def slot_attention():
    """Slots that compete for inputs, refined by a recurrent cell."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.slots = nn.Parameter(torch.randn(3, 8))
            self.q, self.kv = nn.Linear(8, 8), nn.Linear(8, 16)
            self.cell, self.norm = nn.GRUCell(8, 8), nn.LayerNorm(8)

        def forward(self, x):
            k, v = self.kv(self.norm(x)).chunk(2, -1)
            slots = self.slots[None].expand(x.shape[0], -1, -1)
            for _ in range(2):
                shares = (k @ self.q(self.norm(slots)).mT / 8**0.5).softmax(-1) + 1e-6
                means = (shares / shares.sum(1, keepdim=True)).mT @ v
                slots = self.cell(means.flatten(0, 1), slots.flatten(0, 1)).view_as(slots)
            return slots, shares.argmax(-1)

    return Model(), (torch.randn(2, 10, 8),)


@family
def turing_machine():
    """A memory addressed by content, shifted and sharpened."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.control = nn.LSTMCell(4 + 6, 8)
            self.head = nn.Linear(8, 6 + 1 + 1 + 3 + 1 + 6 + 6)
            self.memory = nn.Parameter(torch.rand(5, 6))

        def forward(self, x):
            memory = self.memory[None].expand(x.shape[1], -1, -1)
            shares = torch.ones_like(memory[..., 0]) / 5
            h = c = torch.zeros_like(x[0, :, :1]).expand(-1, 8)
            read, ys = torch.zeros_like(memory[:, 0]), []
            for step in x.unbind(0):
                h, c = self.control(torch.cat([step, read], -1), (h, c))
                key, strength, gate, shift, sharp, erase, add = self.head(h).split(
                    [6, 1, 1, 3, 1, 6, 6], -1
                )
                near = F.cosine_similarity(memory, key[:, None], dim=-1)
                found = (near * F.softplus(strength)).softmax(-1)
                mixed = torch.lerp(shares, found, gate.sigmoid())
                turns = torch.stack([mixed.roll(n, 1) for n in (-1, 0, 1)], -1)
                moved = (turns * shift.softmax(-1)[:, None]).sum(-1)
                power = moved ** (1 + F.softplus(sharp))
                shares = power / power.sum(-1, keepdim=True)
                memory = memory * (1 - shares[..., None] * erase.sigmoid()[:, None])
                memory = memory + shares[..., None] * add[:, None]
                read = (shares[:, None] @ memory)[:, 0]
                ys.append(read)
            return torch.stack(ys)

    return Model(), (torch.rand(3, 2, 4),)


@family
def pointer_network():
    """A decoder that points at its inputs, each once."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.cell = nn.LSTM(2, 8, batch_first=True), nn.LSTMCell(2, 8)
            self.a, self.b, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 1)

        def forward(self, x):
            states, (h, c) = self.encoder(x)
            h, c, given = h[0], c[0], x[:, 0]
            taken, order = torch.zeros_like(x[..., 0]), []
            for _ in range(3):
                h, c = self.cell(given, (h, c))
                scores = self.v(torch.tanh(self.a(states) + self.b(h)[:, None]))[..., 0]
                picked = (scores - 1e4 * taken).argmax(1)
                taken = taken + F.one_hot(picked, x.shape[1]).to(x.dtype)
                given = x[torch.arange(x.shape[0]), picked]
                order.append(picked)
            return torch.stack(order, 1), h

    return Model(), (torch.randn(2, 5, 2),)
