"""Time series, tables, decisions, segmentation and codecs."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from family_models import family
from family_models.vision import conv


@family
def fusion_transformer():
    """Gated residual networks, selected variables, an LSTM and attention over time."""

    class Gated(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.skip, self.first = nn.Linear(inputs, outputs), nn.Linear(inputs, 8)
            self.second, self.norm = nn.Linear(8, 2 * outputs), nn.LayerNorm(outputs)

        def forward(self, x):
            return self.norm(self.skip(x) + F.glu(self.second(F.elu(self.first(x)))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.each = nn.ModuleList(Gated(1, 8) for _ in range(3))
            self.choice, self.rnn = Gated(3, 3), nn.LSTM(8, 8, batch_first=True)
            self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
            self.quantiles = nn.Linear(8, 3)

        def forward(self, x):
            made = torch.stack([one(x[..., n : n + 1]) for n, one in enumerate(self.each)], -1)
            y = (made * self.choice(x).softmax(-1)[..., None, :]).sum(-1)
            y = y + self.rnn(y)[0]
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
            return self.quantiles(y + self.attend(y, y, y, attn_mask=mask)[0])

    return Model(), (torch.randn(2, 7, 3),)


@family
def sparse_queries():
    """Attention of the queries whose scores stand out, others get the mean; as in Informer."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(8, 24)
            self.shrink = nn.Conv1d(8, 8, 3, padding=1, padding_mode="circular")
            self.norm = nn.BatchNorm1d(8)

        def forward(self, x):
            q, k, v = self.qkv(x).chunk(3, -1)
            scores = q @ k.mT / 8**0.5
            stands_out = scores.amax(-1) - scores.mean(-1)
            rows = stands_out.topk(3, -1, sorted=False).indices.sort(-1).values
            index = rows[..., None]
            picked = scores.gather(1, index.expand(-1, -1, x.shape[1])).softmax(-1) @ v
            y = v.cumsum(1).scatter(1, index.expand(-1, -1, 8), picked)
            y = F.elu(self.norm(self.shrink(y.transpose(1, 2))))
            return F.max_pool1d(y, 3, 2, 1).transpose(1, 2)

    return Model(), (torch.randn(2, 10, 8),)


@family
def reversible_norm_mixer():
    """Series normalised by their own statistics, mixed along time and features."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.time, self.features = nn.Linear(12, 12), nn.Linear(4, 4)
            self.ahead, self.gain = nn.Linear(12, 6), nn.Parameter(torch.ones(4))

        def forward(self, x):
            mean = x.mean(1, keepdim=True)
            spread = (x.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()
            y = (x - mean) / spread * self.gain
            y = y + F.gelu(self.time(y.transpose(1, 2)).transpose(1, 2))
            y = y + F.silu(self.features(y))
            y = self.ahead(y.transpose(1, 2)).transpose(1, 2)
            return y / self.gain * spread + mean

    return Model(), (torch.randn(2, 12, 4),)


@family
def hierarchical_interpolation():
    """Pooled at several rates, forecast, and interpolated; as in N-HiTS."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.rates = (4, 2, 1)
            self.nets = nn.ModuleList(
                nn.Sequential(nn.Linear(16 // r, 8), nn.ReLU(), nn.Linear(8, 16 + 8 // r))
                for r in self.rates
            )

        def forward(self, x):
            total = 0
            for rate, net in zip(self.rates, self.nets, strict=True):
                back, ahead = net(F.max_pool1d(x[:, None], rate, rate)[:, 0]).split(
                    [16, 8 // rate], -1
                )
                total = total + F.interpolate(ahead[:, None], size=8, mode="linear")[:, 0]
                x = x - back
            return total

    return Model(), (torch.randn(2, 16),)


@family
def feature_tokens():
    """Numbers and categories of a table as tokens; attention among rows too."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.b = nn.Parameter(torch.randn(3, 8)), nn.Parameter(torch.randn(3, 8))
            self.embed = nn.Embedding(3 + 5, 8)
            self.offsets = nn.Buffer(torch.tensor([0, 3]))
            self.start = nn.Parameter(torch.randn(1, 1, 8))
            self.columns = nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", batch_first=True)
            self.rows = nn.TransformerEncoderLayer(48, 2, 16, 0.0, batch_first=True)

        def forward(self, numbers, kinds):
            tokens = numbers[..., None] * self.w + self.b
            start = self.start.expand(numbers.shape[0], -1, -1)
            x = torch.cat([start, tokens, self.embed(kinds + self.offsets)], 1)
            x = self.columns(x).flatten(1)[None]
            return self.rows(x)[0]

    kinds = torch.tensor([[0, 4], [2, 1], [1, 0], [2, 2]])
    return Model(), (torch.randn(4, 3), kinds)


@family
def soft_trees():
    """Oblivious trees with soft splits, and leaves by products of choices."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Parameter(torch.randn(5, 4, 3))
            self.thresholds, self.scales = (
                nn.Parameter(torch.randn(4, 3)),
                nn.Parameter(torch.ones(4, 3)),
            )
            self.leaves = nn.Parameter(torch.randn(4, 8, 2))

        def forward(self, x):
            picked = torch.einsum("bf,ftd->btd", x, self.features.softmax(0))
            right = ((picked - self.thresholds) * self.scales.exp()).clamp(-0.5, 0.5) + 0.5
            paths = torch.stack([1 - right, right], -1)
            shares = torch.einsum("bti,btj,btk->btijk", *paths.unbind(2)).flatten(2)
            return torch.einsum("btl,tlo->bo", shares, self.leaves)

    return Model(), (torch.randn(3, 5),)


@family
def many_gates():
    """Experts shared by tasks, each with a gate; crosses of features; history by a target."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.items = nn.Embedding(13, 8)
            self.score = nn.Sequential(nn.Linear(32, 8), nn.PReLU(), nn.Linear(8, 1))
            self.crosses = nn.ModuleList(nn.Linear(16, 16) for _ in range(2))
            self.experts, self.gates = nn.Linear(16, 3 * 8), nn.Linear(16, 2 * 3)
            self.towers = nn.Parameter(torch.randn(2, 8))

        def forward(self, history, target):
            past, item = self.items(history), self.items(target)[:, None]
            wide = item.expand_as(past)
            pairs = torch.cat([past, wide, past - wide, past * wide], -1)
            shares = self.score(pairs).masked_fill((history == 0)[..., None], 0.0)
            start = x = torch.cat([(shares * past).sum(1), item[:, 0]], -1)
            for cross in self.crosses:
                x = start * cross(x) + x
            experts = F.relu(self.experts(x)).unflatten(-1, (3, 8))
            gates = self.gates(x).unflatten(-1, (2, 3)).softmax(-1)
            return ((gates @ experts) * self.towers).sum(-1).sigmoid()

    history = torch.tensor([[1, 5, 0, 0], [7, 2, 12, 3]])
    return Model(), (history, torch.tensor([4, 9]))


@family
def mask_queries():
    """Queries with masked attention, whose products with pixels are masks; as in Mask2Former."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.fine = conv(3, 8, 3, 2), conv(8, 8, 3, 2)
            self.queries = nn.Parameter(torch.randn(4, 8))
            self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
            self.kinds, self.embed = nn.Linear(8, 3), nn.Linear(8, 8)

        def forward(self, x):
            a = self.body(x)
            b = self.fine(a)
            pixels = a + F.interpolate(b, scale_factor=2, mode="bilinear", align_corners=False)
            q = self.queries[None].expand(x.shape[0], -1, -1)
            masks = torch.einsum("bqc,bchw->bqhw", self.embed(q), pixels)
            small = F.interpolate(masks, size=b.shape[2:], mode="bilinear").flatten(2)
            away = small.sigmoid() < 0.5
            away = away & ~away.all(-1, keepdim=True)
            keys = b.flatten(2).mT
            bias = torch.zeros_like(small).masked_fill(away, -1e4).repeat_interleave(2, 0)
            q = q + self.attend(q, keys, keys, attn_mask=bias, need_weights=False)[0]
            masks = torch.einsum("bqc,bchw->bqhw", self.embed(q), pixels)
            kinds = self.kinds(q).softmax(-1)
            return kinds, torch.einsum("bqk,bqhw->bkhw", kinds[..., :-1], masks.sigmoid())

    return Model(), (torch.randn(1, 3, 16, 16),)


@family
def one_to_one_detector():
    """Queries picked among all pixels by their best kind, and no suppression afterwards."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = conv(3, 8, 3, 4)
            self.kinds, self.boxes = nn.Linear(8, 3), nn.Linear(8, 4)
            self.block = nn.TransformerDecoderLayer(8, 2, 16, 0.0, batch_first=True)

        def forward(self, x):
            y = self.body(x)
            h, w = y.shape[2:]
            v, u = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            centres = torch.stack([(u + 0.5) / w, (v + 0.5) / h], -1).view(1, -1, 2).to(x.dtype)
            memory = y.flatten(2).mT
            anchors = torch.cat([centres, torch.full_like(centres, 0.1)], -1)
            anchors = (anchors / (1 - anchors)).log()
            rows = self.kinds(memory).amax(-1).topk(5, 1).indices[..., None]
            picked = memory.gather(1, rows.expand(-1, -1, 8))
            q = self.block(picked, memory)
            anchors = anchors.expand(x.shape[0], -1, -1).gather(1, rows.expand(-1, -1, 4))
            boxes = (self.boxes(q) + anchors).sigmoid()
            scores, flat = self.kinds(q).sigmoid().flatten(1).topk(4, 1)
            found = boxes.gather(1, (flat // 3)[..., None].expand(-1, -1, 4))
            return scores, flat % 3, found

    return Model(), (torch.randn(2, 3, 20, 20),)


@family
def anchored_boxes():
    """Boxes of anchors of two shapes at each pixel, limited to the image."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.kinds = conv(3, 8, 3, 4), nn.Conv2d(8, 2 * 3, 3, padding=1)
            self.boxes = nn.Conv2d(8, 2 * 4, 3, padding=1)
            self.sizes = nn.Buffer(torch.tensor([[8.0, 8.0], [16.0, 8.0]]))

        def forward(self, x):
            y = self.body(x)
            h, w = y.shape[2:]
            kinds = self.kinds(y).permute(0, 2, 3, 1).reshape(x.shape[0], -1, 3).sigmoid()
            moves = self.boxes(y).unflatten(1, (2, 4)).permute(0, 3, 4, 1, 2)
            v, u = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            centres = (torch.stack([u, v], -1)[:, :, None] * 4.0 + 2.0).to(x.dtype)
            middle = centres + moves[..., :2] * self.sizes
            half = self.sizes * moves[..., 2:].clamp(max=4.0).exp() / 2
            boxes = torch.cat([middle - half, middle + half], -1).flatten(1, 3)
            return boxes.clamp(0.0, 19.0), kinds.amax(-1)

    return Model(), (torch.randn(1, 3, 20, 20),)


@family
def residual_codes():
    """A codec of sound: residuals quantised by one table after the other; as in EnCodec."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.Sequential(
                nn.Conv1d(1, 8, 7, padding=3), nn.ELU(), nn.Conv1d(8, 8, 4, 2)
            )
            self.rnn = nn.LSTM(8, 8)
            self.tables = nn.Parameter(torch.randn(3, 6, 8))
            self.up = nn.ConvTranspose1d(8, 1, 4, 2)

        def forward(self, x):
            y = self.down(x)
            rows = y.permute(2, 0, 1)
            rest = (rows + self.rnn(rows)[0]).transpose(0, 1)
            total, codes = torch.zeros_like(rest), []
            for table in self.tables.unbind(0):
                far = (
                    rest.square().sum(-1, keepdim=True)
                    - 2 * rest @ table.T
                    + table.square().sum(-1)
                )
                code = far.argmin(-1)
                near = F.embedding(code, table)
                total, rest = total + near, rest - near
                codes.append(code)
            return torch.stack(codes, 1), self.up(F.elu(total.mT)).tanh()

    return Model(), (torch.randn(1, 1, 32),)


@family
def returns_to_go():
    """Returns, states and actions, interleaved as tokens; advantages by two heads."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.enter = nn.ModuleList([nn.Linear(1, 8), nn.Linear(4, 8), nn.Embedding(3, 8)])
            self.places = nn.Embedding(6, 8)
            self.block = nn.TransformerEncoderLayer(
                8, 2, 16, 0.0, batch_first=True, norm_first=True
            )
            self.value, self.advantage = nn.Linear(8, 1), nn.Linear(8, 3)

        def forward(self, returns, states, actions):
            given = zip(self.enter, (returns, states, actions), strict=True)
            tokens = torch.stack([layer(one) for layer, one in given], 2)
            steps = states.shape[1]
            x = (tokens + self.places(torch.arange(steps))[:, None]).flatten(1, 2)
            mask = torch.full((3 * steps, 3 * steps), -1e4).triu(1).to(x.dtype)
            y = self.block(x, src_mask=mask).unflatten(1, (steps, 3))[:, :, 1]
            advantage = self.advantage(y)
            return self.value(y) + advantage - advantage.mean(-1, keepdim=True)

    given = (torch.randn(2, 4, 1), torch.randn(2, 4, 4), torch.randint(0, 3, (2, 4)))
    return Model(), given
