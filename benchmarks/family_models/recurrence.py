"""Recurrent networks and models of time series, stacked and in several parts."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from family_models import family

WORDS = 13


@family
def stacked_lstm():
    """Three layers in both directions, with the states as results."""
    model = nn.LSTM(6, 5, num_layers=3, bidirectional=True, batch_first=True)
    return model, (torch.randn(2, 7, 6),)


@family
def stacked_gru():
    """Two layers with a first state, and attention over the steps."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru, self.score = nn.GRU(6, 8, num_layers=2), nn.Linear(8, 1)

        def forward(self, x, state):
            y, last = self.gru(x, state)
            return (self.score(y).softmax(0) * y).sum(0), last

    return Model(), (torch.randn(7, 2, 6), torch.randn(2, 2, 8))


@family
def tagger_of_words():
    """Characters by a convolution, words by an LSTM in both directions; tags by their scores."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.letters, self.words = nn.Embedding(20, 4), nn.Embedding(WORDS, 8)
            self.conv = nn.Conv1d(4, 6, 3, padding=1)
            self.lstm = nn.LSTM(8 + 6, 5, bidirectional=True, batch_first=True)
            self.head = nn.Linear(10, 7)

        def forward(self, words, letters):
            x = self.letters(letters).flatten(0, 1).transpose(1, 2)
            shape = self.conv(x).amax(-1).unflatten(0, words.shape)
            y, _ = self.lstm(torch.cat([self.words(words), shape], -1))
            return self.head(F.dropout(y, 0.3, training=self.training)).log_softmax(-1)

    return Model(), (torch.randint(0, WORDS, (2, 6)), torch.randint(0, 20, (2, 6, 5)))


@family
def cells_by_hand():
    """A loop over an LSTM cell and a peephole, with norms of layers."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.norm = nn.LSTMCell(4, 6), nn.LayerNorm(6)
            self.peep = nn.Parameter(torch.randn(6))

        def forward(self, x):
            h, c = x.new_zeros(x.shape[1], 6), x.new_zeros(x.shape[1], 6)
            kept = []
            for step in x:
                h, c = self.cell(step, (self.norm(h + self.peep * c.tanh()), c))
                kept.append(h)
            return torch.stack(kept), c

    return Model(), (torch.randn(5, 2, 4),)


@family
def quantile_forecast():
    """An encoder and a decoder of an LSTM with static features, three quantiles for each step."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.LSTM(3, 8, batch_first=True)
            self.decoder = nn.LSTM(2, 8, batch_first=True)
            self.static, self.head = nn.Linear(4, 8), nn.Linear(8, 3)

        def forward(self, past, known, static):
            mean, deviation = past.mean(1, keepdim=True), past.std(1, keepdim=True) + 1e-3
            _, state = self.encoder((past - mean) / deviation)
            y, _ = self.decoder(known, state)
            spread = F.softplus(self.head(y * self.static(static).sigmoid()[:, None]))
            return spread.cumsum(-1) * deviation[..., :1] + mean[..., :1]

    return Model(), (torch.randn(2, 12, 3), torch.randn(2, 5, 2), torch.randn(2, 4))


@family
def decomposed_series():
    """Trend by a moving mean, season by the rest, a linear layer each; as in DLinear."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.trend, self.season = nn.Linear(24, 8), nn.Linear(24, 8)

        def forward(self, x):
            x = x.transpose(1, 2)
            trend = F.avg_pool1d(F.pad(x, (3, 3), mode="replicate"), 7, 1)
            return (self.trend(trend) + self.season(x - trend)).transpose(1, 2)

    return Model(), (torch.randn(2, 24, 3),)


@family
def inverted_series():
    """Attention among variables, each a token; as in iTransformer."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Linear(24, 16), nn.Linear(16, 8)
            self.layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu")

        def forward(self, x):
            mean, deviation = x.mean(1, keepdim=True), x.var(1, keepdim=True).add(1e-5).sqrt()
            y = self.embed(((x - mean) / deviation).transpose(1, 2))
            return self.head(self.layer(y)).transpose(1, 2) * deviation + mean

    return Model(), (torch.randn(2, 24, 5),)


@family
def periods_as_images():
    """The strongest periods of the spectrum fold a series to images; as in TimesNet."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.ModuleList(nn.Conv2d(3, 3, k, padding=k // 2) for k in (1, 3, 5))
            times = torch.arange(24)
            angles = 2 * torch.pi * times[:, None] * torch.arange(13) / 24
            self.register_buffer("waves", torch.stack([angles.cos(), angles.sin()]))

        def forward(self, x):
            parts = torch.einsum("btc,wtf->wbfc", x, self.waves.to(x.dtype))
            strength = parts.square().sum(0).sqrt().mean(-1)[:, [12, 6, 4]]
            found = []
            for period in (2, 4, 6):
                image = x.transpose(1, 2).unflatten(-1, (24 // period, period))
                y = sum(one(image) for one in self.conv) / 3
                found.append(F.gelu(y).flatten(2).transpose(1, 2))
            shares = strength.softmax(-1)
            return x + (torch.stack(found, -1) * shares[:, None, None]).sum(-1)

    return Model(), (torch.randn(2, 24, 3),)


@family
def anomaly_of_windows():
    """An autoencoder of convolutions and the error of each step, with a limit by quantiles."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Sequential(
                nn.Conv1d(3, 8, 4, 2, 1), nn.ELU(), nn.Conv1d(8, 4, 4, 2, 1)
            )
            self.decoder = nn.Sequential(
                nn.ConvTranspose1d(4, 8, 4, 2, 1), nn.ELU(), nn.ConvTranspose1d(8, 3, 4, 2, 1)
            )

        def forward(self, x):
            error = (self.decoder(self.encoder(x)) - x).square().mean(1)
            limit = error.sort(-1).values[:, 12:13]
            return error, (error > 2 * limit).to(x.dtype)

    return Model(), (torch.randn(2, 3, 16),)
