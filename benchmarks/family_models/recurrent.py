"""Recurrent networks, and attention of other forms."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from family_models import family


@family
def gru_seq2seq():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(30, 12)
            self.encoder = nn.GRU(12, 16, bidirectional=True, batch_first=True)
            self.bridge, self.cell = nn.Linear(32, 16), nn.GRUCell(12 + 32, 16)
            self.score, self.out = nn.Linear(48, 1), nn.Linear(16, 30)

        def forward(self, source, start):
            memory, last = self.encoder(self.embedding(source))
            h = self.bridge(torch.cat([last[0], last[1]], -1)).tanh()
            token, outs = start, []
            for _ in range(4):
                wide = h[:, None].expand(-1, memory.shape[1], -1)
                weights = self.score(torch.cat([memory, wide], -1)).squeeze(-1).softmax(-1)
                context = torch.bmm(weights[:, None], memory)[:, 0]
                h = self.cell(torch.cat([self.embedding(token), context], -1), h)
                logits = self.out(h)
                token = logits.argmax(-1)
                outs.append(logits)
            return torch.stack(outs, 1)

    return Model(), (torch.randint(0, 30, (2, 7)), torch.zeros(2, dtype=torch.long))


@family
def lstm_crf():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.rnn = nn.Embedding(30, 12), nn.LSTM(12, 8, bidirectional=True)
            self.out, self.moves = nn.Linear(16, 5), nn.Parameter(torch.randn(5, 5))

        def forward(self, ids):
            y, _ = self.rnn(self.embedding(ids))
            scores = self.out(y)
            best, back = scores[0], []
            for t in range(1, ids.shape[0]):
                best, at = (best[:, :, None] + self.moves + scores[t][:, None]).max(1)
                back.append(at)
            score, last = best.max(-1)
            path = [last]
            for at in reversed(back):
                last = at.gather(1, last[:, None])[:, 0]
                path.append(last)
            return score, torch.stack(path[::-1], 1), torch.logsumexp(best, -1)

    return Model(), (torch.randint(0, 30, (6, 2)),)


@family
def lstm_projected():
    return nn.LSTM(8, 16, num_layers=2, bidirectional=True, batch_first=True), (
        torch.randn(2, 6, 8),
    )


@family
def elman():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.RNN(6, 10, nonlinearity="relu")
            self.gru = nn.GRU(10, 8, 2)

        def forward(self, x, h):
            y, last = self.rnn(x, h)
            z, _ = self.gru(y)
            return z, last

    return Model(), (torch.randn(5, 2, 6), torch.randn(1, 2, 10))


@family
def conv_lstm():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.gates = nn.Conv2d(2 + 4, 16, 3, padding=1)

        def forward(self, x):
            h = torch.zeros(x.shape[0], 4, *x.shape[3:], dtype=x.dtype)
            c = h
            for t in range(x.shape[1]):
                i, f, o, g = self.gates(torch.cat([x[:, t], h], 1)).chunk(4, 1)
                c = f.sigmoid() * c + i.sigmoid() * g.tanh()
                h = o.sigmoid() * c.tanh()
            return h

    return Model(), (torch.randn(1, 3, 2, 8, 8),)


@family
def transformer_xl():
    """Attention by relative positions, shifted."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.r = nn.Linear(16, 48, bias=False), nn.Linear(16, 16, bias=False)
            self.u, self.v = nn.Parameter(torch.randn(2, 8)), nn.Parameter(torch.randn(2, 8))
            self.register_buffer("places", torch.randn(12, 16))

        def forward(self, x, memory):
            n, m = x.shape[1], memory.shape[1]
            both = torch.cat([memory, x], 1)
            q, k, v = (y.view(*y.shape[:2], 2, 8) for y in self.qkv(both).chunk(3, -1))
            q = q[:, -n:]
            r = self.r(self.places).view(-1, 2, 8)
            content = torch.einsum("bihd,bjhd->bhij", q + self.u, k)
            position = torch.einsum("bihd,jhd->bhij", q + self.v, r)
            padded = F.pad(position, (1, 0)).view(*position.shape[:2], n + m + 1, n)
            position = padded[:, :, 1:].view_as(position)
            mask = torch.ones(n, n + m, dtype=torch.bool).triu(m + 1)
            scores = (content + position) / 8**0.5
            scores = scores.masked_fill(mask, float("-inf")).softmax(-1)
            return torch.einsum("bhij,bjhd->bihd", scores, v).flatten(2)

    return Model(), (torch.randn(1, 5, 16), torch.randn(1, 7, 16))


@family
def perceiver():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.latents = nn.Parameter(torch.randn(4, 16))
            self.cross = nn.MultiheadAttention(16, 1, kdim=10, vdim=10, batch_first=True)
            self.inner = nn.MultiheadAttention(16, 4, batch_first=True)
            self.norm = nn.LayerNorm(16)

        def forward(self, x, padding):
            z = self.latents.expand(x.shape[0], -1, -1)
            y, weights = self.cross(self.norm(z), x, x, key_padding_mask=padding)
            z = z + y
            y, _ = self.inner(z, z, z)
            return z + y, weights

    padding = torch.zeros(2, 9, dtype=torch.bool)
    padding[1, 6:] = True
    return Model(), (torch.randn(2, 9, 10), padding)


@family
def longformer():
    """Attention within sliding windows."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(16, 48)

        def forward(self, x):
            q, k, v = self.qkv(x).chunk(3, -1)
            blocks = q.view(1, 4, 4, 16)
            k, v = (F.pad(y, (0, 0, 4, 4)).unfold(1, 12, 4).transpose(2, 3) for y in (k, v))
            scores = blocks @ k.transpose(-1, -2) / 4
            near = (torch.arange(12)[None] - 4 - torch.arange(4)[:, None]).abs() <= 4
            at = torch.arange(4)[:, None] * 4 + torch.arange(12)[None] - 4
            mask = near[None] & ((at >= 0) & (at < 16))[:, None]
            scores = scores.masked_fill(~mask, torch.finfo(x.dtype).min).softmax(-1)
            return (scores @ v).reshape(1, 16, 16)

    return Model(), (torch.randn(1, 16, 16),)


@family
def hyena():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(8, 24)
            self.short = nn.Conv1d(24, 24, 3, padding=2, groups=24)
            self.filter = nn.Sequential(nn.Linear(3, 16), nn.SiLU(), nn.Linear(16, 8))
            t = torch.linspace(0, 1, 16)[:, None]
            self.register_buffer("codes", torch.cat([t, (6.28 * t).sin(), (6.28 * t).cos()], 1))

        def forward(self, u):
            x, v, z = self.short(self.proj(u).transpose(1, 2))[..., :16].chunk(3, 1)
            k = self.filter(self.codes).T * torch.exp(-self.codes[:, 0] * 3)
            v = v * x
            y = torch.fft.irfft(torch.fft.rfft(v, n=32) * torch.fft.rfft(k, n=32), n=32)[..., :16]
            return (y * z).transpose(1, 2)

    return Model(), (torch.randn(1, 16, 8),)


@family
def reformer_hash():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("turn", torch.randn(8, 4))
            self.v = nn.Linear(8, 8)

        def forward(self, x):
            turned = x @ self.turn
            bucket = torch.cat([turned, -turned], -1).argmax(-1)
            order = (bucket * x.shape[1] + torch.arange(x.shape[1])).argsort(-1)
            back = order.argsort(-1)
            wide = order[..., None].expand(-1, -1, 8)
            q, v = x.gather(1, wide).view(1, 4, 4, 8), self.v(x).gather(1, wide).view(1, 4, 4, 8)
            y = (q @ F.normalize(q, dim=-1).transpose(-1, -2)).softmax(-1) @ v
            return y.view(1, 16, 8).gather(1, back[..., None].expand(-1, -1, 8))

    return Model(), (torch.randn(1, 16, 8),)


@family
def speculative_sampling():
    """Processes logits as decoders do: penalties, the nucleus, n-grams."""

    class Model(nn.Module):
        def forward(self, logits, seen, noise):
            score = logits.gather(1, seen)
            score = torch.where(score < 0, score * 1.2, score / 1.2)
            logits = logits.scatter(1, seen, score) / 0.7
            top = logits.topk(8).values[:, -1:]
            logits = logits.masked_fill(logits < top, float("-inf"))
            order, at = logits.sort(descending=True)
            drop = order.softmax(-1).cumsum(-1) > 0.9
            drop = torch.cat([torch.zeros_like(drop[:, :1]), drop[:, :-1]], 1)
            drop = torch.zeros_like(drop).scatter(1, at, drop)
            p = logits.masked_fill(drop, float("-inf")).softmax(-1)
            return p, (p.log() - torch.log(-torch.log(noise))).argmax(-1)

    return Model(), (
        torch.randn(2, 30),
        torch.randint(0, 30, (2, 4)),
        torch.rand(2, 30) * 0.9 + 0.05,
    )
