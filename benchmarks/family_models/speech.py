"""Speech and music."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from family_models import family


@family
def conformer():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.sub = nn.Sequential(
                nn.Conv2d(1, 4, 3, 2), nn.ReLU(), nn.Conv2d(4, 4, 3, 2), nn.ReLU()
            )
            self.inside = nn.Linear(4 * 4, 16)
            self.ff = nn.Sequential(
                nn.LayerNorm(16), nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 16)
            )
            self.norm, self.attention = (
                nn.LayerNorm(16),
                nn.MultiheadAttention(16, 2, batch_first=True),
            )
            self.point, self.depth = (
                nn.Conv1d(16, 32, 1),
                nn.Conv1d(16, 16, 5, padding=2, groups=16),
            )
            self.bn, self.last = nn.BatchNorm1d(16), nn.Linear(16, 12)

        def forward(self, x, lengths):
            y = self.sub(x[:, None])
            y = self.inside(y.transpose(1, 2).flatten(2))
            y = y + 0.5 * self.ff(y)
            n = self.norm(y)
            padding = torch.arange(n.shape[1])[None] >= lengths[:, None]
            y = y + self.attention(n, n, n, key_padding_mask=padding, need_weights=False)[0]
            z = F.glu(self.point(y.transpose(1, 2)), 1)
            y = y + F.silu(self.bn(self.depth(z))).transpose(1, 2)
            return self.last(y).log_softmax(-1)

    return Model(), (torch.randn(2, 30, 20), torch.tensor([6, 4]))


@family
def wav2vec():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Conv1d(1, 8, 10, 5, bias=False), nn.Conv1d(8, 8, 3, 2)
            self.norm, self.place = nn.GroupNorm(8, 8), nn.Conv1d(8, 8, 4, padding=2, groups=2)
            self.place = nn.utils.parametrizations.weight_norm(self.place, dim=2)
            self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu")

        def forward(self, x):
            x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-7).sqrt()
            y = F.gelu(self.second(F.gelu(self.norm(self.first(x[:, None])))))
            y = y + F.gelu(self.place(y)[..., :-1])
            return self.layer(y.transpose(1, 2))

    return Model(), (torch.randn(1, 200),)


@family
def wavenet():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.inside = nn.Conv1d(1, 8, 1)
            self.gates = nn.ModuleList(nn.Conv1d(8, 16, 2, dilation=2**i) for i in range(3))
            self.skips = nn.ModuleList(nn.Conv1d(8, 8, 1) for _ in range(3))
            self.out = nn.Conv1d(8, 16, 1)

        def forward(self, x):
            x, total = self.inside(x), 0
            for i, (gate, skip) in enumerate(zip(self.gates, self.skips, strict=True)):
                a, b = gate(F.pad(x, (2**i, 0))).chunk(2, 1)
                y = skip(a.tanh() * b.sigmoid())
                x, total = x + y, total + y
            return self.out(F.relu(total))

    return Model(), (torch.randn(1, 1, 32),)


@family
def tcn():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.convs = nn.ModuleList(
                nn.utils.weight_norm(nn.Conv1d(4, 4, 3, padding=2 * 2**i, dilation=2**i))
                for i in range(3)
            )
            self.out = nn.Linear(4, 2)

        def forward(self, x):
            for i, layer in enumerate(self.convs):
                x = F.relu(layer(x)[:, :, : -2 * 2**i] + x)
            return self.out(x[:, :, -1])

    return Model(), (torch.randn(2, 4, 20),)


@family
def stft_front():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("window", torch.hann_window(16))
            self.register_buffer("mel", torch.rand(9, 6))
            self.conv = nn.Conv2d(1, 4, 3, 1, 1)

        def forward(self, x):
            s = torch.stft(x, 16, 8, window=self.window, center=True, return_complex=True)
            power = s.real**2 + s.imag**2
            mel = (power.transpose(1, 2) @ self.mel).clamp(min=1e-5).log10()
            mel = torch.maximum(mel, mel.amax((1, 2), keepdim=True) - 8)
            return self.conv(mel[:, None])

    return Model(), (torch.randn(2, 80),)


@family
def mfcc_front():
    """Frames by unfolding, a transform by cosines."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            n = torch.arange(16.0)
            angle = 2 * torch.pi * n[:, None] * torch.arange(9.0) / 16
            self.register_buffer("real", angle.cos())
            self.register_buffer("imag", angle.sin())
            self.register_buffer("window", torch.hamming_window(16))
            self.register_buffer("mel", torch.rand(9, 6))
            self.register_buffer(
                "dct",
                torch.cos(torch.pi / 6 * (torch.arange(6.0)[:, None] + 0.5) * torch.arange(4.0)),
            )

        def forward(self, x):
            x = torch.cat([x[:, :1], x[:, 1:] - 0.97 * x[:, :-1]], 1)
            frames = x.unfold(1, 16, 8)
            frames = (frames - frames.mean(-1, keepdim=True)) * self.window
            power = (frames @ self.real) ** 2 + (frames @ self.imag) ** 2
            y = torch.log(power @ self.mel + 1e-3) @ self.dct
            delta = (
                F.pad(y, (0, 0, 0, 1), mode="replicate") - F.pad(y, (0, 0, 1, 0), mode="replicate")
            )[:, :-1]
            return torch.cat([y, delta], -1)

    return Model(), (torch.randn(1, 80),)


@family
def hifi_gan():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.pre = nn.utils.weight_norm(nn.Conv1d(10, 16, 7, 1, 3))
            self.ups = nn.ModuleList(
                nn.utils.weight_norm(nn.ConvTranspose1d(16 // 2**i, 8 // 2**i, 8, 4, 2))
                for i in range(2)
            )
            self.res = nn.ModuleList(
                nn.Conv1d(8 // 2**i, 8 // 2**i, 3, 1, 3, dilation=3) for i in range(2)
            )
            self.post = nn.Conv1d(4, 1, 7, padding=3)

        def forward(self, x):
            x = self.pre(x)
            for up, res in zip(self.ups, self.res, strict=True):
                x = up(F.leaky_relu(x, 0.1))
                x = x + res(F.leaky_relu(x, 0.1))
            return self.post(F.leaky_relu(x)).tanh()

    return Model(), (torch.randn(1, 10, 6),)


@family
def snake_vocoder():
    """Periodic activations, between low-pass filters."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.alpha = nn.Parameter(torch.rand(1, 4, 1) + 0.5)
            self.register_buffer("low", torch.rand(1, 1, 12) / 12)

        def forward(self, x):
            x = F.pad(x, (5, 5), mode="replicate")
            x = 2 * F.conv_transpose1d(x, self.low.expand(4, -1, -1), stride=2, groups=4)
            x = x[..., 15:-15]
            x = x + (x * self.alpha).sin() ** 2 / (self.alpha + 1e-9)
            x = F.pad(x, (5, 6), mode="replicate")
            return F.conv1d(x, self.low.expand(4, -1, -1), stride=2, groups=4)

    return Model(), (torch.randn(1, 4, 24),)


@family
def speaker_statistics():
    """Squeeze and excitation, multiple scales, attentive statistics, as in ECAPA-TDNN."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv1d(10, 16, 5, padding=2)
            self.scales = nn.ModuleList(nn.Conv1d(4, 4, 3, padding=2, dilation=2) for _ in range(3))
            self.attention = nn.Sequential(
                nn.Conv1d(48, 8, 1), nn.ReLU(), nn.Tanh(), nn.Conv1d(8, 16, 1)
            )
            self.out, self.norm = nn.Linear(32, 8), nn.BatchNorm1d(32)

        def forward(self, x):
            x = F.relu(self.stem(x))
            parts, ys = x.chunk(4, 1), []
            for i, part in enumerate(parts):
                ys.append(part if i == 0 else self.scales[i - 1](part + (ys[-1] if i > 1 else 0)))
            x = x + torch.cat(ys, 1)
            mean, std = x.mean(2, keepdim=True), x.var(2, keepdim=True).clamp(min=1e-4).sqrt()
            wide = torch.cat([x, mean.expand_as(x), std.expand_as(x)], 1)
            w = self.attention(wide).softmax(2)
            mu = (w * x).sum(2)
            sigma = ((w * x**2).sum(2) - mu**2).clamp(min=1e-4).sqrt()
            return F.normalize(self.out(self.norm(torch.cat([mu, sigma], 1))))

    return Model(), (torch.randn(2, 10, 20),)


@family
def tacotron_attention():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.query = nn.LSTMCell(4 + 8, 12), nn.Linear(12, 6)
            self.memory, self.v = nn.Linear(8, 6), nn.Linear(6, 1)
            self.place = nn.Conv1d(2, 6, 5, padding=2)
            self.mel, self.stop = nn.Linear(20, 4), nn.Linear(20, 1)

        def forward(self, memory):
            b, n, _ = memory.shape
            frame, context = (
                torch.zeros(b, 4, dtype=memory.dtype),
                torch.zeros(b, 8, dtype=memory.dtype),
            )
            h = c = torch.zeros(b, 12, dtype=memory.dtype)
            weights = total = torch.zeros(b, n, dtype=memory.dtype)
            keys, frames, stops = self.memory(memory), [], []
            for _ in range(3):
                h, c = self.rnn(torch.cat([frame, context], -1), (h, c))
                place = self.place(torch.stack([weights, total], 1)).transpose(1, 2)
                weights = self.v(torch.tanh(self.query(h)[:, None] + keys + place))[..., 0].softmax(
                    -1
                )
                total = total + weights
                context = torch.einsum("bn,bnd->bd", weights, memory)
                both = torch.cat([h, context], -1)
                frame = self.mel(both)
                frames.append(frame)
                stops.append(self.stop(both))
            return torch.stack(frames, 1), torch.cat(stops, 1).sigmoid()

    return Model(), (torch.randn(2, 7, 8),)


@family
def length_regulator():
    """Each phoneme is repeated as often as its duration says, up to a length."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.duration, self.out = nn.Linear(8, 1), nn.Linear(8, 4)

        def forward(self, x):
            d = torch.clamp(torch.round(self.duration(x)[..., 0].exp()), 1, 4)
            ends = d.cumsum(1)
            at = torch.arange(16).to(x.dtype)
            path = (at[None, :, None] < ends[:, None]) & (at[None, :, None] >= (ends - d)[:, None])
            return self.out(path.to(x.dtype) @ x), ends[:, -1].long()

    return Model(), (torch.randn(2, 5, 8),)


@family
def rnn_transducer():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.predictor = nn.LSTM(10, 12, 2), nn.GRU(6, 12, batch_first=True)
            self.embedding, self.joint = nn.Embedding(20, 6), nn.Linear(12, 20)

        def forward(self, x, ids):
            y, _ = self.encoder(x.transpose(0, 1))
            z, _ = self.predictor(self.embedding(ids))
            both = y.transpose(0, 1)[:, :, None] + z[:, None]
            return self.joint(both.tanh()).log_softmax(-1)

    return Model(), (torch.randn(1, 6, 10), torch.randint(0, 20, (1, 4)))


@family
def source_separation():
    """Conv-TasNet: masks on learnt frames; a global norm, overlap and add."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = nn.Conv1d(1, 8, 8, 4), nn.ConvTranspose1d(8, 1, 8, 4)
            self.g, self.b = nn.Parameter(torch.ones(1, 8, 1)), nn.Parameter(torch.zeros(1, 8, 1))
            self.body, self.act = nn.Conv1d(8, 16, 1), nn.PReLU()

        def forward(self, x):
            w = F.relu(self.encoder(x[:, None]))
            mean = w.mean((1, 2), keepdim=True)
            var = ((w - mean) ** 2).mean((1, 2), keepdim=True)
            y = (w - mean) / (var + 1e-8).sqrt() * self.g + self.b
            masks = self.act(self.body(y)).view(x.shape[0], 2, 8, -1).softmax(1)
            both = (w[:, None] * masks).flatten(0, 1)
            return self.decoder(both).view(x.shape[0], 2, -1)

    return Model(), (torch.randn(1, 64),)
