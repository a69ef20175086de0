"""Restoration, generation, rendering, and networks of other functions."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from family_models import family


@family
def super_resolution():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.dense = nn.ModuleList(nn.Conv2d(8 + 4 * i, 4, 3, padding=1) for i in range(3))
            self.stem, self.fuse = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(20, 8, 1)
            self.up = nn.Sequential(nn.Conv2d(8, 12, 3, padding=1), nn.PixelShuffle(2))
            self.slope = nn.PReLU(8)

        def forward(self, x):
            y = self.stem(F.pad(x, (2, 2, 2, 2), mode="reflect"))
            h = [y]
            for layer in self.dense:
                h.append(F.leaky_relu(layer(torch.cat(h, 1)), 0.2))
            y = self.slope(y + 0.2 * self.fuse(torch.cat(h, 1)))
            base = F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)
            y = self.up(y)[:, :, 4:-4, 4:-4] + base
            return F.pixel_unshuffle(y, 2), y.clamp(0, 1)

    return Model(), (torch.randn(1, 3, 12, 10),)


@family
def style_gan():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(8, 4, 3, 3))
            self.style = nn.Linear(16, 4)
            self.constant = nn.Parameter(torch.randn(1, 4, 8, 8))
            blur = torch.tensor([1.0, 3, 3, 1])
            self.register_buffer("blur", (blur[:, None] * blur / 64)[None, None])

        def forward(self, z, noise):
            z = z * (z.square().mean(1, keepdim=True) + 1e-8).rsqrt()
            batch = z.shape[0]
            w = self.weight[None] * (self.style(z) + 1)[:, None, :, None, None]
            w = w * (w.square().sum((2, 3, 4), keepdim=True) + 1e-8).rsqrt()
            x = self.constant.expand(batch, -1, -1, -1).reshape(1, batch * 4, 8, 8)
            y = F.conv2d(x, w.flatten(0, 1), padding=1, groups=batch).view(batch, 8, 8, 8)
            y = F.leaky_relu(y + noise, 0.2) * 2**0.5
            up = F.interpolate(y, scale_factor=2)
            return F.conv2d(up, self.blur.expand(8, 1, 4, 4), padding=2, groups=8)

    return Model(), (torch.randn(2, 16), torch.randn(2, 1, 8, 8))


@family
def hypernetwork():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.make = nn.Linear(6, 4 * 3 * 9 + 4)

        def forward(self, x, task):
            both = self.make(task)
            y = F.conv2d(x, both[0, :108].view(4, 3, 3, 3), both[0, 108:], padding=1)
            z = F.linear(y.mean((2, 3)), both[1, :20].view(5, 4))
            return y, z

    return Model(), (torch.randn(2, 3, 8, 8), torch.randn(2, 6))


@family
def vq_vae():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Conv2d(3, 8, 4, 2, 1)
            self.codes = nn.Embedding(16, 8)
            self.decoder = nn.ConvTranspose2d(8, 3, 4, 2, 1, output_padding=1)

        def forward(self, x):
            z = self.encoder(x).permute(0, 2, 3, 1)
            flat = z.reshape(-1, 8)
            book = self.codes.weight
            distance = (flat**2).sum(1, keepdim=True) - 2 * flat @ book.T + (book**2).sum(1)
            found = distance.argmin(1)
            hot = F.one_hot(found, 16).to(x.dtype)
            q = (hot @ book).view_as(z).permute(0, 3, 1, 2)
            return torch.tanh(self.decoder(q)), found, hot.mean(0)

    return Model(), (torch.randn(1, 3, 16, 16),)


@family
def nerf():
    """Positional codes, and the sum along rays."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(39, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
            self.out = nn.Linear(32, 4)

        def forward(self, origins, directions):
            t = torch.linspace(2.0, 6.0, 8).to(origins.dtype)
            x = origins[:, None] + directions[:, None] * t[:, None]
            waves = x[..., None] * (2.0 ** torch.arange(6)).to(x.dtype)
            code = torch.cat([x, waves.sin().flatten(-2), waves.cos().flatten(-2)], -1)
            y = self.out(self.body(code))
            step = torch.cat([t[1:] - t[:-1], torch.full_like(t[:1], 100.0)])
            alpha = 1 - torch.exp(-F.softplus(y[..., 3]) * step)
            through = torch.cumprod(
                torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-4], -1), -1
            )
            weights = alpha * through[:, :-1]
            return (weights[..., None] * y[..., :3].sigmoid()).sum(1), (weights * t).sum(1)

    return Model(), (torch.randn(5, 3), torch.randn(5, 3))


@family
def siren_hash():
    """A table of features at the corners of a grid, as in instant neural graphics."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(torch.randn(64, 4))
            self.net = nn.Linear(4, 3)

        def forward(self, x):
            scaled = x * 7
            low = scaled.floor()
            rest = (scaled - low)[..., None]
            at, total = low.long(), 0
            for i in range(2):
                for j in range(2):
                    y, z = at[:, 0] + i, at[:, 1] + j
                    index = torch.bitwise_xor(y, z * 2654435761) % 64
                    a = rest[:, 0] if i else 1 - rest[:, 0]
                    b = rest[:, 1] if j else 1 - rest[:, 1]
                    total = total + self.table[index] * a * b
            return torch.sin(30 * self.net(total))

    return Model(), (torch.rand(6, 2),)


@family
def capsules():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.primary = nn.Conv2d(1, 16, 5, 2)
            self.w = nn.Parameter(torch.randn(3, 64, 6, 4) * 0.1)

        def forward(self, x):
            def squash(v):
                square = (v**2).sum(-1, keepdim=True)
                return square / (1 + square) * v / (square + 1e-6).sqrt()

            u = squash(
                self.primary(x).view(x.shape[0], 4, 4, -1).permute(0, 1, 3, 2).reshape(-1, 64, 4)
            )
            hats = torch.einsum("jidk,bik->bjid", self.w, u)
            b = torch.zeros_like(hats[..., 0])
            for _ in range(3):
                v = squash((b.softmax(1)[..., None] * hats).sum(2))
                b = b + (hats * v[:, :, None]).sum(-1)
            return v.norm(dim=-1)

    return Model(), (torch.randn(2, 1, 12, 12),)


@family
def optical_flow():
    """All pairs' correlations, sampled around a moving point; and warping."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Conv2d(3, 8, 3, 2, 1)
            self.gru = nn.Conv2d(9 + 2, 2, 3, padding=1)

        def forward(self, one, two):
            a, b = self.features(one), self.features(two)
            n, c, h, w = a.shape
            volume = (a.flatten(2).transpose(1, 2) @ b.flatten(2)) / c**0.5
            volume = volume.reshape(n * h * w, 1, h, w)
            y, x = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            start = torch.stack([x, y]).to(one.dtype)[None].expand(n, -1, -1, -1)
            coords = start
            around = torch.cartesian_prod(torch.arange(-1, 2), torch.arange(-1, 2)).to(one.dtype)
            extent = torch.tensor([w - 1, h - 1], dtype=one.dtype)
            for _ in range(2):
                centre = coords.permute(0, 2, 3, 1).reshape(n * h * w, 1, 1, 2)
                grid = (centre + around.view(1, 3, 3, 2)) * 2 / extent - 1
                looked = F.grid_sample(volume, grid, align_corners=True)
                looked = looked.view(n, h, w, 9).permute(0, 3, 1, 2)
                coords = coords + self.gru(torch.cat([looked, coords - start], 1))
            grid = coords.permute(0, 2, 3, 1) * 2 / extent - 1
            return F.grid_sample(
                b, grid, mode="bilinear", padding_mode="border", align_corners=True
            )

    return Model(), (torch.randn(1, 3, 12, 12), torch.randn(1, 3, 12, 12))


@family
def spatial_transformer():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.locate = nn.Linear(64, 6)

        def forward(self, x):
            theta = self.locate(F.adaptive_avg_pool2d(x, (4, 8)).flatten(1)).view(-1, 2, 3)
            grid = F.affine_grid(theta, list(x.shape), align_corners=False)
            return F.grid_sample(x, grid, align_corners=False, padding_mode="zeros")

    return Model(), (torch.randn(1, 2, 10, 12),)


@family
def fourier_operator():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(4, 4, 5, 2) * 0.2)
            self.skip = nn.Conv1d(4, 4, 1)

        def forward(self, x):
            spectrum = torch.fft.rfft(x)[..., :5]
            real = torch.einsum("bik,iok->bok", spectrum.real, self.w[..., 0])
            real = real - torch.einsum("bik,iok->bok", spectrum.imag, self.w[..., 1])
            imag = torch.einsum("bik,iok->bok", spectrum.real, self.w[..., 1])
            imag = imag + torch.einsum("bik,iok->bok", spectrum.imag, self.w[..., 0])
            y = torch.fft.irfft(torch.complex(real, imag), n=x.shape[-1])
            return F.gelu(y + self.skip(x))

    return Model(), (torch.randn(2, 4, 16),)


@family
def global_filter():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(8, 5, 4, 2) * 0.2)

        def forward(self, x):
            spectrum = torch.fft.rfft2(x, dim=(1, 2), norm="ortho")
            y = spectrum * torch.view_as_complex(self.w)
            return torch.fft.irfft2(y, s=(8, 8), dim=(1, 2), norm="ortho")

    return Model(), (torch.randn(2, 8, 8, 4),)


@family
def pixel_cnn():
    class Masked(nn.Conv2d):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            mask = torch.ones_like(self.weight)
            mask[:, :, 2, 2:], mask[:, :, 3:] = 0, 0
            self.register_buffer("mask", mask)

        def forward(self, x):
            return F.conv2d(x, self.weight * self.mask, self.bias, padding=2)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = Masked(1, 16, 5), Masked(8, 4, 5)

        def forward(self, x):
            a, b = self.first(x).chunk(2, 1)
            return F.cross_entropy(
                self.second(a.tanh() * b.sigmoid()), (x[:, 0] > 0).long(), reduction="none"
            )

    return Model(), (torch.randn(1, 1, 10, 10),)


@family
def glow():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.mix = nn.Parameter(torch.linalg.qr(torch.randn(4, 4))[0])
            self.net = nn.Sequential(nn.Conv2d(2, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 1))

        def forward(self, x):
            b, c, h, w = x.shape
            x = (
                x.view(b, c, h // 2, 2, w // 2, 2)
                .permute(0, 1, 3, 5, 2, 4)
                .reshape(b, 4, h // 2, w // 2)
            )
            y = F.conv2d(x, self.mix[:, :, None, None])
            a, rest = y.split(2, 1)
            shift, scale = self.net(a).chunk(2, 1)
            s = torch.sigmoid(scale + 2)
            z = torch.cat([a, (rest + shift) * s], 1)
            return z, s.log().sum((1, 2, 3)) + torch.slogdet(self.mix).logabsdet * h * w / 4

    return Model(), (torch.randn(2, 1, 8, 8),)


@family
def kan():
    """Splines for activations."""

    class Layer(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.register_buffer(
                "grid", torch.linspace(-2.2, 2.2, 12).expand(inputs, -1).contiguous()
            )
            self.spline = nn.Parameter(torch.randn(outputs, inputs, 8) * 0.1)
            self.base = nn.Parameter(torch.randn(outputs, inputs) * 0.3)

        def forward(self, x):
            g, y = self.grid, x[..., None]
            bases = ((y >= g[:, :-1]) & (y < g[:, 1:])).to(x.dtype)
            for k in range(1, 4):
                left = (y - g[:, : -(k + 1)]) / (g[:, k:-1] - g[:, : -(k + 1)])
                right = (g[:, k + 1 :] - y) / (g[:, k + 1 :] - g[:, 1:-k])
                bases = left * bases[..., :-1] + right * bases[..., 1:]
            return F.linear(F.silu(x), self.base) + F.linear(
                bases.flatten(1), self.spline.flatten(1)
            )

    return nn.Sequential(Layer(4, 6), Layer(6, 2)), (torch.randn(5, 4).clamp(-2, 2),)


@family
def neural_ode():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 4))

        def forward(self, x):
            def slope(t, y):
                return self.net(torch.cat([y, torch.full_like(y[:, :1], t)], 1))

            h = 0.25
            for i in range(3):
                t = i * h
                a = slope(t, x)
                b = slope(t + h / 2, x + h / 2 * a)
                c = slope(t + h / 2, x + h / 2 * b)
                d = slope(t + h, x + h * c)
                x = x + h / 6 * (a + 2 * b + 2 * c + d)
            return x

    return Model(), (torch.randn(3, 4),)
