"""Diffusion and speech models."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from family_models import family


def conv(inside, outside, kernel=3, stride=1):
    return nn.Conv2d(inside, outside, kernel, stride, kernel // 2)


def image(channels=3, size=16):
    return torch.randn(1, channels, size, size)


def heads(x, count):
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


# Diffusion


def time_embedding(t, size):
    rates = torch.exp(-math.log(1e4) * torch.arange(size // 2, dtype=torch.float32) / (size // 2))
    angles = t[:, None].to(torch.float32) * rates
    return torch.cat([angles.cos(), angles.sin()], -1)


class Residual(nn.Module):
    """Two convolutions with group norms, the time added or as scale and shift."""

    def __init__(self, inside, outside, *, scales=False):
        super().__init__()
        self.scales = scales
        self.norms = nn.ModuleList([nn.GroupNorm(4, inside), nn.GroupNorm(4, outside)])
        self.convs = nn.ModuleList([conv(inside, outside), conv(outside, outside)])
        self.time = nn.Linear(16, 2 * outside if scales else outside)
        self.skip = conv(inside, outside, 1) if inside != outside else nn.Identity()

    def forward(self, x, time):
        y = self.convs[0](F.silu(self.norms[0](x)))
        t = self.time(F.silu(time))[..., None, None]
        if self.scales:
            scale, shift = t.chunk(2, 1)
            y = self.norms[1](y) * (1 + scale) + shift
        else:
            y = self.norms[1](y + t)
        return self.skip(x) + self.convs[1](F.silu(y))


@family
def diffusion_unet():
    """Two levels with skips, attention in the middle, upsampling to the nearest."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.time = nn.Sequential(nn.Linear(16, 16), nn.SiLU(), nn.Linear(16, 16))
            self.first, self.last = conv(3, 8), conv(8, 3)
            self.down, self.mid = Residual(8, 8), Residual(16, 16, scales=True)
            self.up, self.shrink, self.grow = Residual(24, 8), conv(8, 16, 3, 2), conv(16, 16)
            self.norm, self.attention = nn.GroupNorm(4, 16), nn.Conv2d(16, 48, 1)
            self.out = nn.GroupNorm(4, 8)

        def forward(self, x, t):
            time = self.time(time_embedding(t, 16).to(x.dtype))
            skip = self.down(self.first(x), time)
            y = self.mid(self.shrink(skip), time)
            q, k, v = (
                one.flatten(2).transpose(1, 2) for one in self.attention(self.norm(y)).chunk(3, 1)
            )
            z = F.scaled_dot_product_attention(q, k, v).transpose(1, 2)
            y = y + z.unflatten(2, y.shape[2:])
            y = self.grow(F.interpolate(y, scale_factor=2.0, mode="nearest"))
            return self.last(F.silu(self.out(self.up(torch.cat([y, skip], 1), time))))

    return Model(), (image(size=8), torch.tensor([17]))


@family
def modulated_transformer():
    """Blocks whose norms are scaled and shifted by time and class, from patches; as in DiT."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.patch, self.classes = nn.Conv2d(4, 16, 2, 2), nn.Embedding(5, 16)
            self.modulation = nn.Linear(16, 6 * 16)
            self.norm = nn.LayerNorm(16, elementwise_affine=False)
            self.qkv, self.o = nn.Linear(16, 48), nn.Linear(16, 16)
            self.mlp = nn.Sequential(nn.Linear(16, 32), nn.GELU("tanh"), nn.Linear(32, 16))
            self.head = nn.Linear(16, 16)

        def forward(self, x, t, label):
            y = self.patch(x).flatten(2).transpose(1, 2)
            c = F.silu(time_embedding(t, 16).to(x.dtype) + self.classes(label))
            a, b, c1, d, e, f = self.modulation(c)[:, None].chunk(6, -1)
            q, k, v = (heads(one, 4) for one in self.qkv(self.norm(y) * (1 + a) + b).chunk(3, -1))
            z = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
            y = y + c1 * self.o(z)
            y = y + f * self.mlp(self.norm(y) * (1 + d) + e)
            y = self.head(y).reshape(1, 4, 4, 2, 2, 4)
            return torch.einsum("nhwpqc->nchpwq", y).reshape(1, 4, 8, 8)

    return Model(), (image(4, 8), torch.tensor([500]), torch.tensor([3]))


@family
def two_streams():
    """Image and text attend jointly, with RMS norms of q and k and rotations; as in Flux."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.ModuleList(nn.Linear(16, 48) for _ in range(2))
            self.o = nn.ModuleList(nn.Linear(16, 16) for _ in range(2))
            self.mod, self.single = nn.Linear(16, 64), nn.Linear(16, 48 + 32)
            self.out, self.norm = nn.Linear(16 + 32, 16), nn.LayerNorm(16, elementwise_affine=False)
            self.scale = nn.Parameter(torch.ones(4))

        def rotated(self, x):
            """Normalises and rotates pairs of features, `[B, H, T, 4]`."""
            x = x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * self.scale
            angle = torch.arange(x.shape[2])[:, None] / torch.tensor([1.0, 10.0])
            cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
            a, b = x.unflatten(-1, (2, 2)).unbind(-1)
            return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)

        def attended(self, q, k, v):
            """Attends, and joins the heads."""
            y = F.scaled_dot_product_attention(self.rotated(q), self.rotated(k), v)
            return y.transpose(1, 2).flatten(2)

        def forward(self, picture, text, vector):
            a, b, c, d = self.mod(F.silu(vector))[:, None].chunk(4, -1)
            streams = [text, picture]
            parts = [
                [heads(part, 4) for part in layer(self.norm(x) * (1 + a) + b).chunk(3, -1)]
                for layer, x in zip(self.qkv, streams, strict=True)
            ]
            q, k, v = (torch.cat(pair, 2) for pair in zip(*parts, strict=True))
            y = self.attended(q, k, v).split([text.shape[1], picture.shape[1]], 1)
            text, picture = (x + c * o(z) for x, o, z in zip(streams, self.o, y, strict=True))
            x = torch.cat([text, picture], 1)
            qkv, hidden = self.single(self.norm(x) * (1 + d)).split([48, 32], -1)
            q, k, v = (heads(one, 4) for one in qkv.chunk(3, -1))
            y = torch.cat([self.attended(q, k, v), F.gelu(hidden, approximate="tanh")], -1)
            return (x + self.out(y))[:, text.shape[1] :]

    return Model(), (torch.randn(1, 9, 16), torch.randn(1, 4, 16), torch.randn(1, 16))


@family
def latent_decoder():
    """The decoder of a variational autoencoder, with attention and pixel shuffle."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.block = conv(4, 8), Residual(8, 8)
            self.up, self.norm, self.last = conv(8, 32), nn.GroupNorm(2, 8), conv(8, 3)

        def forward(self, z):
            y = self.block(self.first(z / 0.18215), z.new_zeros(1, 16))
            y = F.pixel_shuffle(self.up(y), 2)
            return self.last(F.silu(self.norm(y))).clamp(-1, 1) * 0.5 + 0.5

    return Model(), (image(4, 6),)


@family
def controlled_steps():
    """Two steps of a sampler with guidance and a control image."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.control, self.body, self.last = conv(3, 8, 1), conv(3, 8), conv(8, 3)
            self.register_buffer("alphas", torch.tensor([0.3, 0.6, 0.9]))

        def forward(self, x, hint):
            for step in range(2):
                now, later = self.alphas[step], self.alphas[step + 1]
                both = self.body(torch.cat([x, x])) + self.control(torch.cat([hint, hint * 0]))
                left, right = self.last(F.silu(both)).chunk(2)
                noise = right + 4.0 * (left - right)
                clean = ((x - (1 - now).sqrt() * noise) / now.sqrt()).clamp(-2, 2)
                x = later.sqrt() * clean + (1 - later).sqrt() * noise
            return x

    return Model(), (image(size=8), image(size=8))


# Speech


@family
def log_mel_encoder():
    """Convolutions of log spectra and attention with positions; as in Whisper."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.ModuleList([nn.Conv1d(20, 16, 3, 1, 1), nn.Conv1d(16, 16, 3, 2, 1)])
            self.layer = nn.TransformerEncoderLayer(
                16, 4, 32, batch_first=True, activation="gelu", norm_first=True
            )
            self.register_buffer("positions", time_embedding(torch.arange(12), 16))

        def forward(self, power):
            x = power.clamp(min=1e-10).log10()
            x = torch.maximum(x, x.amax((1, 2), keepdim=True) - 8.0)
            x = (x + 4.0) / 4.0
            for one in self.conv:
                x = F.gelu(one(x))
            return self.layer(x.transpose(1, 2) + self.positions)

    return Model(), (torch.rand(1, 20, 24),)


@family
def branches_of_speech():
    """Attention beside a gated convolution, merged; as in Branchformer."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.gate_norm = nn.LayerNorm(16), nn.LayerNorm(16)
            self.qkv, self.up, self.down = nn.Linear(16, 48), nn.Linear(16, 32), nn.Linear(16, 16)
            self.conv = nn.Conv1d(16, 16, 5, padding=2, groups=16)
            self.merge = nn.Linear(32, 16)

        def forward(self, x, lengths):
            mask = torch.arange(x.shape[1])[None] >= lengths[:, None]
            y = self.norm(x)
            q, k, v = (heads(one, 2) for one in self.qkv(y).chunk(3, -1))
            scores = (q @ k.transpose(2, 3) / 8**0.5).masked_fill(mask[:, None, None], -1e4)
            left = (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
            a, b = F.gelu(self.up(y)).chunk(2, -1)
            b = self.conv(self.gate_norm(b).transpose(1, 2)).transpose(1, 2)
            return x + self.merge(torch.cat([left, self.down(a * b)], -1))

    return Model(), (torch.randn(2, 10, 16), torch.tensor([10, 6]))


@family
def keyword_spotting():
    """Depthwise filters over time and broadcast residuals; as in BC-ResNet."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Conv2d(1, 8, 5, (2, 1), 2)
            self.frequency = nn.Conv2d(8, 8, (3, 1), padding=(1, 0), groups=8)
            self.time = nn.Conv2d(8, 8, (1, 3), padding=(0, 2), dilation=(1, 2), groups=8)
            self.norms = nn.ModuleList(nn.BatchNorm2d(8) for _ in range(3))
            self.point, self.head = conv(8, 8, 1), conv(8, 12, 1)

        def forward(self, x):
            x = F.relu(self.norms[0](self.first(x)))
            y = self.norms[1](self.frequency(x))
            z = F.silu(self.norms[2](self.time(y.mean(2, keepdim=True))))
            y = F.relu(x + y + self.point(z))
            return self.head(y.mean((2, 3), keepdim=True)).flatten(1)

    return Model(), (torch.randn(1, 1, 20, 15),)


@family
def attentive_statistics():
    """Scaled groups of channels, one after the other, and weighted statistics; as in ECAPA."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.convs = nn.ModuleList(nn.Conv1d(4, 4, 3, padding=2, dilation=2) for _ in range(3))
            self.squeeze = nn.Sequential(nn.Linear(16, 4), nn.ReLU(), nn.Linear(4, 16))
            self.attention, self.head = nn.Conv1d(48, 16, 1), nn.Linear(32, 8)

        def forward(self, x):
            parts = list(x.chunk(4, 1))
            for index, one in enumerate(self.convs, 1):
                parts[index] = F.relu(one(parts[index] + (parts[index - 1] if index > 1 else 0)))
            y = torch.cat(parts, 1)
            y = x + y * self.squeeze(y.mean(-1)).sigmoid()[..., None]
            mean, deviation = y.mean(-1, keepdim=True), y.std(-1, keepdim=True)
            joined = torch.cat([y, mean.expand_as(y), deviation.expand_as(y)], 1)
            shares = self.attention(torch.tanh(joined)).softmax(-1)
            mean = (shares * y).sum(-1)
            deviation = ((shares * y.square()).sum(-1) - mean.square()).clamp(min=1e-6).sqrt()
            return F.normalize(self.head(torch.cat([mean, deviation], 1)))

    return Model(), (torch.randn(2, 16, 12),)


@family
def neural_codec():
    """Strided convolutions with Snake, residual quantisation by distances, and a decoder."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.ModuleList([nn.Conv1d(1, 8, 7, padding=3), nn.Conv1d(8, 6, 4, 2, 1)])
            self.books = nn.ParameterList(nn.Parameter(torch.randn(11, 6)) for _ in range(2))
            self.decoder = nn.ModuleList(
                [nn.ConvTranspose1d(6, 8, 4, 2, 1), nn.Conv1d(8, 1, 7, padding=3)]
            )
            self.alpha = nn.Parameter(torch.ones(1, 8, 1))

        def snake(self, x):
            """`x + sin²(a x) / a`."""
            return x + torch.sin(self.alpha * x).square() / (self.alpha + 1e-6)

        def forward(self, wave):
            x = self.encoder[1](self.snake(self.encoder[0](wave))).transpose(1, 2)
            total, codes = torch.zeros_like(x), []
            for book in self.books:
                rest = x - total
                distance = (rest[..., None, :] - book).square().sum(-1)
                codes.append(distance.argmin(-1))
                total = total + book[codes[-1]]
            y = self.snake(self.decoder[0](total.transpose(1, 2)))
            return torch.tanh(self.decoder[1](y)), torch.stack(codes)

    return Model(), (torch.randn(1, 1, 24),)


@family
def streaming_transducer():
    """A step of a recurrent encoder with its cache, and the joint network of two towers."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.gru = nn.Conv1d(8, 8, 3), nn.GRU(8, 8, batch_first=True)
            self.embed, self.lstm = nn.Embedding(11, 8), nn.LSTM(8, 8, batch_first=True)
            self.joint = nn.Linear(8, 11)

        def forward(self, chunk, cache, state, tokens):
            x = torch.cat([cache, chunk], 2)
            y, state = self.gru(F.relu(self.conv(x)).transpose(1, 2), state)
            z, _ = self.lstm(self.embed(tokens))
            scores = self.joint(torch.tanh(y[:, :, None] + z[:, None])).log_softmax(-1)
            return scores, x[:, :, -2:], state

    inputs = (torch.randn(1, 8, 5), torch.randn(1, 8, 2), torch.randn(1, 1, 8))
    return Model(), (*inputs, torch.randint(0, 11, (1, 4)))
