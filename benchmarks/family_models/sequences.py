"""Language models without plain attention, mixtures of experts, and recurrent networks."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from family_models import family


@family
def mamba():
    """A selective scan, step by step."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.inside, self.out = nn.Linear(8, 32), nn.Linear(16, 8)
            self.conv = nn.Conv1d(16, 16, 4, padding=3, groups=16)
            self.x_proj, self.dt = nn.Linear(16, 9), nn.Linear(1, 16)
            self.a_log = nn.Parameter(torch.log(torch.arange(1.0, 5).repeat(16, 1)))
            self.d = nn.Parameter(torch.ones(16))

        def forward(self, u):
            x, z = self.inside(u).chunk(2, -1)
            x = F.silu(self.conv(x.transpose(1, 2))[..., : u.shape[1]].transpose(1, 2))
            dt, b, c = self.x_proj(x).split([1, 4, 4], -1)
            dt = F.softplus(self.dt(dt))
            decay = torch.exp(dt[..., None] * -self.a_log.exp())
            add = dt[..., None] * b[:, :, None] * x[..., None]
            h, ys = torch.zeros_like(decay[:, 0]), []
            for t in range(u.shape[1]):
                h = decay[:, t] * h + add[:, t]
                ys.append((h * c[:, t, None]).sum(-1))
            return self.out((torch.stack(ys, 1) + x * self.d) * F.silu(z))

    return Model(), (torch.randn(1, 10, 8),)


@family
def mamba_2():
    """A state space by blocks: sums of segments, products of decays."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(8, 16 + 4 + 4 + 2)

        def forward(self, u):
            x, b, c, dt = self.proj(u).split([16, 4, 4, 2], -1)
            a = -F.softplus(dt)
            x = x.view(*x.shape[:2], 2, 8)
            sums = a.cumsum(1).transpose(1, 2)
            segments = sums[..., :, None] - sums[..., None, :]
            mask = torch.ones(u.shape[1], u.shape[1], dtype=torch.bool).tril()
            decay = segments.masked_fill(~mask, float("-inf")).exp()
            scores = torch.einsum("bln,bsn->bls", c, b)[:, None] * decay
            return torch.einsum("bhls,bshp->blhp", scores, x).flatten(2)

    return Model(), (torch.randn(2, 12, 8),)


@family
def s4d():
    """A convolution by a kernel of complex exponentials, by Fourier transforms."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.re, self.im = nn.Parameter(torch.rand(4, 8)), nn.Parameter(torch.rand(4, 8) * 3)
            self.c = nn.Parameter(torch.randn(4, 8, 2))
            self.d = nn.Parameter(torch.randn(4))

        def forward(self, u):
            t = torch.arange(u.shape[-1]).to(u.dtype)
            size = torch.exp(-self.re.exp()[..., None] * 0.1 * t)
            angle = self.im[..., None] * 0.1 * t
            k = (self.c[..., :1] * size * angle.cos() - self.c[..., 1:] * size * angle.sin()).sum(1)
            n = 2 * u.shape[-1]
            y = torch.fft.irfft(torch.fft.rfft(u, n=n) * torch.fft.rfft(k, n=n), n=n)
            return F.gelu(y[..., : u.shape[-1]] + u * self.d[:, None])

    return Model(), (torch.randn(2, 4, 16),)


@family
def rwkv():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(8)
            self.mix = nn.Parameter(torch.rand(3, 8))
            self.k, self.v, self.r, self.o = (nn.Linear(8, 8, bias=False) for _ in range(4))
            self.decay, self.first = nn.Parameter(torch.randn(8)), nn.Parameter(torch.randn(8))

        def forward(self, x):
            x = self.norm(x)
            before = F.pad(x, (0, 0, 1, -1))
            k, v, r = (
                layer(x * m + before * (1 - m))
                for layer, m in zip((self.k, self.v, self.r), self.mix, strict=True)
            )
            w = -self.decay.exp()
            a, b, p = torch.zeros_like(k[:, 0]), torch.zeros_like(k[:, 0]), k[:, 0] * 0 - 1e4
            ys = []
            for t in range(x.shape[1]):
                q = torch.maximum(p, self.first + k[:, t])
                e, f = (p - q).exp(), (self.first + k[:, t] - q).exp()
                ys.append((e * a + f * v[:, t]) / (e * b + f))
                q = torch.maximum(p + w, k[:, t])
                e, f = (p + w - q).exp(), (k[:, t] - q).exp()
                a, b, p = e * a + f * v[:, t], e * b + f, q
            return self.o(torch.stack(ys, 1) * r.sigmoid())

    return Model(), (torch.randn(2, 8, 8),)


@family
def retnet():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.g = (nn.Linear(16, 16, bias=False) for _ in range(4))
            self.norm = nn.GroupNorm(2, 16, affine=False)

        def forward(self, x):
            b, n, _ = x.shape
            q, k, v = (f(x).view(b, n, 2, 8).transpose(1, 2) for f in (self.q, self.k, self.v))
            at = torch.arange(n).to(x.dtype)
            angle = at[:, None] * (10000.0 ** -torch.linspace(0, 1, 4)).to(x.dtype)
            sin, cos = (f.repeat_interleave(2, -1) for f in (angle.sin(), angle.cos()))

            def turned(y):
                pair = torch.stack([-y[..., 1::2], y[..., ::2]], -1).flatten(-2)
                return y * cos + pair * sin

            decay = torch.log(1 - 2.0 ** (-5 - torch.arange(2.0))).to(x.dtype)
            far = at[:, None] - at[None]
            mask = torch.where(far >= 0, torch.exp(far * decay[:, None, None]), 0.0)
            mask = mask / mask.sum(-1, keepdim=True).sqrt()
            scores = turned(q) @ turned(k).transpose(-1, -2) * mask
            scores = scores / scores.detach().abs().sum(-1, keepdim=True).clamp(min=1)
            y = (scores @ v).transpose(1, 2).reshape(b * n, 16)
            return self.norm(y).view(b, n, 16) * F.silu(self.g(x))

    return Model(), (torch.randn(2, 8, 16),)


@family
def linear_attention():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(16, 48)

        def forward(self, x):
            q, k, v = self.qkv(x).view(*x.shape[:2], 3, 2, 8).unbind(2)
            q, k = F.elu(q) + 1, F.elu(k) + 1
            state = torch.einsum("blhd,blhe->blhde", k, v).cumsum(1)
            total = torch.einsum("blhd,blhd->blh", q, k.cumsum(1))
            return torch.einsum("blhd,blhde->blhe", q, state) / total[..., None]

    return Model(), (torch.randn(1, 7, 16),)


@family
def griffin():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Parameter(torch.randn(8))
            self.gate, self.input = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x, h):
            r, i = self.gate(x).sigmoid(), self.input(x).sigmoid()
            log_a = -8 * r * F.softplus(self.a)
            a = log_a.exp()
            gated = torch.sqrt(-torch.expm1(2 * log_a) + 1e-6) * (i * x)
            ys = []
            for t in range(x.shape[1]):
                h = a[:, t] * h + gated[:, t]
                ys.append(h)
            return torch.stack(ys, 1), h

    return Model(), (torch.randn(2, 6, 8), torch.randn(2, 8))


@family
def delta_net():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.b = (nn.Linear(8, n) for n in (8, 8, 8, 1))

        def forward(self, x):
            q, k = F.normalize(self.q(x), dim=-1), F.normalize(self.k(x), dim=-1)
            v, beta = self.v(x), self.b(x).sigmoid()
            s, ys = torch.zeros(x.shape[0], 8, 8, dtype=x.dtype), []
            for t in range(x.shape[1]):
                old = torch.einsum("bij,bj->bi", s, k[:, t])
                s = s + beta[:, t, :, None] * (v[:, t] - old)[:, :, None] * k[:, t, None]
                ys.append(torch.einsum("bij,bj->bi", s, q[:, t]))
            return torch.stack(ys, 1)

    return Model(), (torch.randn(2, 6, 8),)


@family
def xlstm():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v = (nn.Linear(8, 8) for _ in range(3))
            self.gates = nn.Linear(8, 2)

        def forward(self, x):
            q, k, v = self.q(x), self.k(x) / 8**0.5, self.v(x)
            i, f = self.gates(x).unbind(-1)
            f = F.logsigmoid(f).cumsum(1)
            log_d = f[:, :, None] - f[:, None] + i[:, None]
            mask = torch.tril(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool))
            log_d = torch.where(mask, log_d, float("-inf"))
            top = log_d.max(-1, keepdim=True).values
            c = q @ k.transpose(1, 2) * (log_d - top).exp()
            norm = torch.maximum(c.sum(-1, keepdim=True).abs(), (-top).exp())
            return (c / (norm + 1e-6)) @ v

    return Model(), (torch.randn(2, 7, 8),)


@family
def switch_experts():
    """Each token goes to one expert, of limited capacity."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.router = nn.Linear(16, 4)
            self.up, self.down = (
                nn.Parameter(torch.randn(4, 16, 32) / 4),
                nn.Parameter(torch.randn(4, 32, 16) / 6),
            )

        def forward(self, x):
            tokens = x.flatten(0, 1)
            probabilities = self.router(tokens).softmax(-1)
            gate, chosen = probabilities.max(-1)
            hot = F.one_hot(chosen, 4)
            place = (hot.cumsum(0) - 1) * hot
            kept = (place < 6) & (hot > 0)
            dispatch = F.one_hot(place.sum(-1).clamp(max=5), 6)[:, None] * kept[..., None]
            dispatch = dispatch.to(x.dtype)
            inside = torch.einsum("tec,td->ecd", dispatch, tokens)
            y = F.gelu(torch.bmm(inside, self.up)) @ self.down
            y = torch.einsum("tec,ecd->td", dispatch * gate[:, None, None], y)
            return y.view_as(x), (probabilities.mean(0) * hot.to(x.dtype).mean(0)).sum() * 4

    return Model(), (torch.randn(2, 8, 16),)


@family
def mixtral():
    """Two experts of four for each token, weights gathered."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.router = nn.Linear(16, 4, bias=False)
            self.w1, self.w3 = (nn.Parameter(torch.randn(4, 16, 24) / 4) for _ in range(2))
            self.w2 = nn.Parameter(torch.randn(4, 24, 16) / 5)

        def forward(self, x):
            weights, chosen = self.router(x).softmax(-1).topk(2, dim=-1)
            weights = weights / weights.sum(-1, keepdim=True)
            a = torch.einsum("td,tkdh->tkh", x, self.w1[chosen])
            b = torch.einsum("td,tkdh->tkh", x, self.w3[chosen])
            y = torch.einsum("tkh,tkhd->tkd", F.silu(a) * b, self.w2[chosen])
            return (y * weights[..., None]).sum(1)

    return Model(), (torch.randn(6, 16),)


@family
def deepseek_experts():
    """Groups of experts by sigmoids; latent attention."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate, self.bias = nn.Linear(16, 8, bias=False), nn.Parameter(torch.randn(8))
            self.experts = nn.ModuleList(nn.Linear(16, 16) for _ in range(8))
            self.shared = nn.Linear(16, 16)
            self.down, self.up = nn.Linear(16, 6), nn.Linear(6, 32)
            self.q = nn.Linear(16, 16)

        def forward(self, x):
            k, v = self.up(F.rms_norm(self.down(x), (6,))).chunk(2, -1)
            x = (
                x
                + F.scaled_dot_product_attention(self.q(x)[None], k[None], v[None], is_causal=True)[
                    0
                ]
            )
            scores = self.gate(x).sigmoid()
            biased = scores + self.bias
            groups = biased.view(-1, 4, 2).topk(2, -1).values.sum(-1)
            mask = torch.zeros_like(groups).scatter(1, groups.topk(2, -1).indices, 1.0)
            biased = biased.masked_fill(mask.repeat_interleave(2, 1) == 0, float("-inf"))
            chosen = biased.topk(2, -1).indices
            weights = scores.gather(1, chosen)
            weights = weights / weights.sum(-1, keepdim=True) * 2.5
            dense = torch.zeros_like(scores).scatter_add(1, chosen, weights)
            y = torch.stack([expert(x) for expert in self.experts], 1)
            return self.shared(x) + (y * dense[..., None]).sum(1)

    return Model(), (torch.randn(6, 16),)


@family
def soft_experts():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.phi = nn.Parameter(torch.randn(16, 3, 2))
            self.w = nn.Parameter(torch.randn(3, 16, 16) / 4)

        def forward(self, x):
            logits = torch.einsum(
                "bmd,dnp->bmnp", F.normalize(x, dim=-1), F.normalize(self.phi, dim=0)
            )
            slots = torch.einsum("bmd,bmnp->bnpd", x, logits.softmax(1))
            y = torch.einsum("bnpd,nde->bnpe", slots, self.w)
            combine = logits.flatten(2).softmax(-1).view_as(logits)
            return torch.einsum("bnpe,bmnp->bme", y, combine)

    return Model(), (torch.randn(2, 6, 16),)
