"""Diffusion and flow matching."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from family_models import family


def time_code(t, width):
    """Sines and cosines of a time."""
    rates = torch.exp(-9.21 * torch.arange(width // 2) / (width // 2))
    angles = t[:, None].float() * rates
    return torch.cat([angles.cos(), angles.sin()], -1).to(t.dtype)


@family
def dit():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.patch = nn.Conv2d(4, 16, 2, 2)
            self.time = nn.Sequential(nn.Linear(16, 16), nn.SiLU(), nn.Linear(16, 16))
            self.kinds = nn.Embedding(11, 16)
            self.ada = nn.Sequential(nn.SiLU(), nn.Linear(16, 96))
            self.norm = nn.LayerNorm(16, elementwise_affine=False, eps=1e-6)
            self.qkv, self.proj = nn.Linear(16, 48), nn.Linear(16, 16)
            self.mlp = nn.Sequential(nn.Linear(16, 64), nn.GELU("tanh"), nn.Linear(64, 16))
            self.out = nn.Linear(16, 2 * 2 * 8)

        def forward(self, x, t, y):
            b, _, h, w = x.shape
            x = self.patch(x).flatten(2).transpose(1, 2)
            c = self.time(time_code(t, 16)) + self.kinds(y)
            s1, g1, a1, s2, g2, a2 = self.ada(c)[:, None].chunk(6, -1)
            z = self.norm(x) * (1 + g1) + s1
            q, k, v = self.qkv(z).view(b, -1, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
            z = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
            x = x + a1 * self.proj(z)
            x = x + a2 * self.mlp(self.norm(x) * (1 + g2) + s2)
            x = self.out(x).view(b, h // 2, w // 2, 2, 2, 8)
            return torch.einsum("nhwpqc->nchpwq", x).reshape(b, 8, h, w)

    return Model(), (torch.randn(2, 4, 8, 8), torch.tensor([10.0, 500.0]), torch.tensor([1, 10]))


@family
def flux():
    """Streams of images and of text, turned by positions along three axes."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.img_mod, self.txt_mod = nn.Linear(32, 96), nn.Linear(32, 96)
            self.img_qkv, self.txt_qkv = nn.Linear(32, 96), nn.Linear(32, 96)
            self.q_norm, self.k_norm = nn.RMSNorm(16), nn.RMSNorm(16)
            self.norm = nn.LayerNorm(32, elementwise_affine=False)
            self.single, self.out = nn.Linear(32, 96 + 64), nn.Linear(32 + 64, 32)
            self.guide = nn.Linear(16, 32)

        def rope(self, ids, dtype):
            out = []
            for axis, width in enumerate((4, 6, 6)):
                rates = 1.0 / 10000 ** (torch.arange(0, width, 2).float() / width)
                a = torch.einsum("n,d->nd", ids[:, axis].float(), rates)
                m = torch.stack([a.cos(), -a.sin(), a.sin(), a.cos()], -1)
                out.append(m.view(*m.shape[:-1], 2, 2))
            return torch.cat(out, -3)[None, None].to(dtype)

        def attend(self, q, k, v, pe):
            q, k = self.q_norm(q), self.k_norm(k)

            def turned(x):
                y = x.reshape(*x.shape[:-1], -1, 1, 2)
                return (pe[..., 0] * y[..., 0] + pe[..., 1] * y[..., 1]).reshape(x.shape)

            y = F.scaled_dot_product_attention(turned(q), turned(k), v)
            return y.transpose(1, 2).flatten(2)

        def forward(self, img, txt, t, ids):
            vec = F.silu(self.guide(time_code(t, 16)))
            pe = self.rope(ids, img.dtype)

            def split(x, qkv, mod):
                shift, scale, gate = mod(vec)[:, None].chunk(3, -1)
                y = qkv((1 + scale) * self.norm(x) + shift)
                return *y.view(*y.shape[:2], 3, 2, 16).permute(2, 0, 3, 1, 4).unbind(0), gate

            iq, ik, iv, ig = split(img, self.img_qkv, self.img_mod)
            tq, tk, tv, tg = split(txt, self.txt_qkv, self.txt_mod)
            y = self.attend(
                torch.cat([tq, iq], 2), torch.cat([tk, ik], 2), torch.cat([tv, iv], 2), pe
            )
            n = txt.shape[1]
            x = torch.cat([txt + tg * y[:, :n], img + ig * y[:, n:]], 1)
            qkv, mlp = self.single(self.norm(x)).split([96, 64], -1)
            q, k, v = qkv.view(*x.shape[:2], 3, 2, 16).permute(2, 0, 3, 1, 4).unbind(0)
            y = torch.cat([self.attend(q, k, v, pe), F.gelu(mlp, approximate="tanh")], -1)
            return (x + self.out(y))[:, n:]

    ids = torch.randint(0, 6, (12, 3))
    return Model(), (torch.randn(1, 8, 32), torch.randn(1, 4, 32), torch.tensor([0.5]), ids)


@family
def stable_diffusion_block():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.GroupNorm(4, 16), nn.GroupNorm(4, 16)
            self.conv1, self.conv2 = nn.Conv2d(16, 16, 3, 1, 1), nn.Conv2d(16, 16, 3, 1, 1)
            self.time, self.up = nn.Linear(16, 32), nn.Conv2d(16, 16, 3, 1, 1)
            self.cross = nn.MultiheadAttention(16, 2, kdim=12, vdim=12, batch_first=True)
            self.geglu, self.back, self.ln = nn.Linear(16, 64), nn.Linear(32, 16), nn.LayerNorm(16)

        def forward(self, x, t, text):
            shift, scale = self.time(F.silu(time_code(t, 16)))[:, :, None, None].chunk(2, 1)
            y = self.conv1(F.silu(self.norm1(x)))
            y = x + self.conv2(F.silu(self.norm2(y) * (1 + scale) + shift))
            b, c, h, w = y.shape
            z = y.flatten(2).transpose(1, 2)
            z = z + self.cross(self.ln(z), text, text, need_weights=False)[0]
            a, gate = self.geglu(self.ln(z)).chunk(2, -1)
            z = z + self.back(a * F.gelu(gate))
            y = z.transpose(1, 2).reshape(b, c, h, w)
            y = self.up(F.interpolate(y, scale_factor=2.0, mode="nearest"))
            return F.avg_pool2d(F.pad(y, (0, 1, 0, 1)), 2, 2)

    return Model(), (torch.randn(1, 16, 8, 8), torch.tensor([7.0]), torch.randn(1, 5, 12))


@family
def sampler_step():
    """Guidance and a step of a solver, with tables of the schedule."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            betas = torch.linspace(0.01, 0.2, 20)
            self.register_buffer("alphas", (1 - betas).cumprod(0))
            self.net = nn.Conv2d(4, 4, 3, padding=1)

        def forward(self, x, t, noise):
            both = self.net(torch.cat([x, x + 0.1]))
            off, on = both.chunk(2)
            eps = off + 7.5 * (on - off)
            std = on.std((1, 2, 3), keepdim=True) / eps.std((1, 2, 3), keepdim=True)
            eps = 0.7 * eps * std + 0.3 * eps
            a = self.alphas[t].view(-1, 1, 1, 1)
            b = (
                torch.where(t > 0, self.alphas[(t - 1).clamp(min=0)], 1.0)
                .to(x.dtype)
                .view(-1, 1, 1, 1)
            )
            start = (x - (1 - a).sqrt() * eps) / a.sqrt()
            q = torch.quantile(start.flatten(1).abs().float(), 0.9, dim=1).to(x.dtype).clamp(min=1)
            q = q.view(-1, 1, 1, 1)
            start = torch.maximum(torch.minimum(start, q), -q) / q
            sigma = 0.5 * ((1 - b) / (1 - a) * (1 - a / b)).clamp(min=0).sqrt()
            return b.sqrt() * start + (1 - b - sigma**2).clamp(min=0).sqrt() * eps + sigma * noise

    return Model(), (torch.randn(2, 4, 8, 8), torch.tensor([5, 0]), torch.randn(2, 4, 8, 8))


@family
def wan_video():
    """Causal convolutions in time, attention in space and in time."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv3d(4, 16, 3)
            self.gamma = nn.Parameter(torch.ones(16, 1, 1, 1))
            self.space, self.time = (
                nn.MultiheadAttention(16, 2, batch_first=True) for _ in range(2)
            )

        def forward(self, x):
            y = self.conv(F.pad(x, (1, 1, 1, 1, 2, 0)))
            y = F.silu(F.normalize(y, dim=1) * 4 * self.gamma)
            b, c, t, h, w = y.shape
            z = y.permute(0, 2, 3, 4, 1).reshape(b * t, h * w, c)
            z = z + self.space(z, z, z, need_weights=False)[0]
            z = z.view(b, t, h * w, c).transpose(1, 2).reshape(b * h * w, t, c)
            mask = torch.ones(t, t, dtype=torch.bool).triu(1)
            z = z + self.time(z, z, z, attn_mask=mask, need_weights=False)[0]
            return z.view(b, h, w, t, c).permute(0, 4, 3, 1, 2)

    return Model(), (torch.randn(1, 4, 3, 4, 4),)
