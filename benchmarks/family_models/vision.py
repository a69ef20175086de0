"""Image classification, segmentation, restoration and rendering."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from family_models import family


def conv(inputs, outputs, window=3, stride=1, groups=1, act=nn.SiLU):
    """Convolution, norm and activation."""
    layer = nn.Conv2d(inputs, outputs, window, stride, window // 2, groups=groups, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(outputs), act())


@family
def efficientnet():
    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.expand, self.depth = conv(inputs, 32, 1), conv(32, 32, 5, stride, 32)
            self.squeeze = nn.Sequential(
                nn.AdaptiveAvgPool2d(1), nn.Conv2d(32, 4, 1), nn.SiLU(), nn.Conv2d(4, 32, 1)
            )
            self.project = conv(32, outputs, 1, act=nn.Identity)

        def forward(self, x):
            y = self.depth(self.expand(x))
            return self.project(y * self.squeeze(y).sigmoid())

    body = [conv(3, 8, 3, 2), Block(8, 16, 2), Block(16, 16, 1)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)]
    return nn.Sequential(*body, *head), (torch.randn(1, 3, 32, 32),)


@family
def mobilenet_v3():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = conv(3, 8, 3, 2, act=nn.Hardswish)
            self.depth = conv(8, 8, 3, 1, 8, act=nn.ReLU)
            self.fc1, self.fc2 = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 8, 1)

        def forward(self, x):
            y = self.depth(self.stem(x))
            gate = F.hardsigmoid(self.fc2(F.relu(self.fc1(F.adaptive_avg_pool2d(y, 1)))))
            return F.hardswish(y * gate).mean((2, 3))

    return Model(), (torch.randn(1, 3, 24, 24),)


@family
def shufflenet():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = conv(3, 16, 3, 2, act=nn.ReLU)
            self.pool = nn.MaxPool2d(3, 2, 1)
            self.branch = nn.Sequential(
                conv(8, 8, 1, act=nn.ReLU), conv(8, 8, 3, 1, 8, act=nn.Identity)
            )

        def forward(self, x):
            a, b = self.pool(self.stem(x)).chunk(2, 1)
            y = torch.cat([a, self.branch(b)], 1)
            return F.channel_shuffle(y, 2)

    return Model(), (torch.randn(1, 3, 32, 32),)


@family
def densenet_ghost():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(conv(8 + 4 * i, 4, act=nn.ReLU) for i in range(3))
            self.stem, self.cheap = conv(3, 8, 7, 2), conv(10, 10, 3, 1, 10)
            self.primary = conv(20, 10, 1)

        def forward(self, x):
            x = self.stem(x)
            for layer in self.layers:
                x = torch.cat([x, layer(x)], 1)
            x = F.avg_pool2d(x, 2)
            y = self.primary(x)
            return torch.cat([y, self.cheap(y)], 1)[:, :18]

    return Model(), (torch.randn(1, 3, 24, 24),)


@family
def inception():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = conv(3, 8, 1), nn.Sequential(conv(3, 4, 1), conv(4, 8, 3))
            self.c = nn.Conv2d(3, 8, (1, 7), padding=(0, 3))
            self.d = nn.Conv2d(3, 4, 1)
            self.norm = nn.LocalResponseNorm(5)

        def forward(self, x):
            pooled = F.avg_pool2d(x, 3, 1, 1)
            y = torch.cat([self.a(x), self.b(x), self.c(x), self.d(pooled)], 1)
            return F.max_pool2d(self.norm(y), 3, 2, ceil_mode=True)

    return Model(), (torch.randn(1, 3, 18, 18),)


@family
def swin_v2():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Conv2d(3, 16, 2, 2)
            self.qkv, self.proj, self.norm = nn.Linear(16, 48), nn.Linear(16, 16), nn.LayerNorm(16)
            self.scale = nn.Parameter(torch.zeros(2, 1, 1))
            self.cpb = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2, bias=False))
            y, x = torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")
            flat = torch.stack([y, x]).flatten(1)
            rel = (flat[:, :, None] - flat[:, None]).permute(1, 2, 0) + 3
            self.register_buffer("index", rel[..., 0] * 7 + rel[..., 1])
            self.register_buffer("table", torch.rand(49, 2) * 8 - 4)

        def forward(self, x):
            x = self.embed(x).permute(0, 2, 3, 1)
            b, h, w, c = x.shape
            y = torch.roll(x, (-2, -2), (1, 2))
            y = y.view(b, h // 4, 4, w // 4, 4, c).transpose(2, 3).reshape(-1, 16, c)
            q, k, v = self.qkv(y).view(-1, 16, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
            scores = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)
            bias = 16 * torch.sigmoid(self.cpb(self.table)[self.index].permute(2, 0, 1))
            scores = scores * self.scale.clamp(max=4.6).exp() + bias
            y = self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(-1, 16, c))
            y = y.view(b, h // 4, w // 4, 4, 4, c).transpose(2, 3).reshape(b, h, w, c)
            return x + self.norm(torch.roll(y, (2, 2), (1, 2)))

    return Model(), (torch.randn(1, 3, 16, 16),)


@family
def max_vit():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = conv(3, 16, 3, 2, act=nn.GELU)
            self.attention = nn.MultiheadAttention(16, 2, batch_first=True)

        def forward(self, x):
            x = self.stem(x)
            b, c, h, w = x.shape
            y = x.view(b, c, 4, h // 4, 4, w // 4).permute(0, 3, 5, 2, 4, 1).reshape(-1, 16, c)
            y, _ = self.attention(y, y, y, need_weights=False)
            y = y.view(b, h // 4, w // 4, 4, 4, c).permute(0, 5, 3, 1, 4, 2).reshape(b, c, h, w)
            return x + y

    return Model(), (torch.randn(1, 3, 16, 16),)


@family
def pool_mixer():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem, self.norm = nn.Conv2d(3, 16, 4, 4), nn.GroupNorm(1, 16)
            self.tokens = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))
            self.scale = nn.Parameter(torch.ones(16, 1, 1) * 0.1)

        def forward(self, x):
            x = self.stem(x)
            y = self.norm(x)
            x = x + self.scale * (F.avg_pool2d(y, 3, 1, 1, count_include_pad=False) - y)
            return x + self.tokens(x.flatten(2)).view_as(x)

    return Model(), (torch.randn(1, 3, 16, 16),)


@family
def cbam_nonlocal():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Sequential(nn.Conv2d(8, 2, 1), nn.ReLU(), nn.Conv2d(2, 8, 1))
            self.spatial, self.stem = nn.Conv2d(2, 1, 7, padding=3), nn.Conv2d(3, 8, 3, padding=1)
            self.theta, self.phi, self.g = (nn.Conv2d(8, 4, 1) for _ in range(3))
            self.out = nn.Conv2d(4, 8, 1)

        def forward(self, x):
            x = self.stem(x)
            mean, most = F.adaptive_avg_pool2d(x, 1), F.adaptive_max_pool2d(x, 1)
            x = x * torch.sigmoid(self.fc(mean) + self.fc(most))
            maps = torch.cat([x.mean(1, keepdim=True), x.max(1, keepdim=True).values], 1)
            x = x * torch.sigmoid(self.spatial(maps))
            t, p, g = (layer(x).flatten(2) for layer in (self.theta, self.phi, self.g))
            y = (t.transpose(1, 2) @ p).softmax(-1) @ g.transpose(1, 2)
            return x + self.out(y.transpose(1, 2).reshape(x.shape[0], 4, *x.shape[2:]))

    return Model(), (torch.randn(1, 3, 12, 12),)


@family
def involution():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.reduce, self.span = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 18, 1)

        def forward(self, x):
            b, c, h, w = x.shape
            kernel = self.span(F.relu(self.reduce(x))).view(b, 2, 1, 9, h, w)
            patches = F.unfold(x, 3, padding=1).view(b, 2, 4, 9, h, w)
            y = (kernel * patches).sum(3).view(b, c, h, w)
            return F.fold(F.unfold(y, 2, stride=2), (h, w), 2, stride=2)

    return Model(), (torch.randn(1, 8, 10, 10),)


@family
def hrnet():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.high, self.low = conv(3, 8, act=nn.ReLU), conv(8, 16, 3, 2, act=nn.ReLU)
            self.up, self.down = conv(16, 8, 1, act=nn.Identity), conv(8, 16, 3, 2, act=nn.Identity)
            self.head = nn.Conv2d(24, 4, 1)

        def forward(self, x):
            high = self.high(x)
            low = self.low(high)
            size = high.shape[2:]
            fused = F.relu(high + F.interpolate(self.up(low), size=size, mode="nearest"))
            low = F.relu(low + self.down(high))
            low = F.interpolate(low, size=size, mode="bilinear", align_corners=True)
            return self.head(torch.cat([fused, low], 1)).argmax(1)

    return Model(), (torch.randn(1, 3, 17, 15),)


@family
def deeplab():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = conv(3, 8, 3, 2, act=nn.ReLU)
            self.rates = nn.ModuleList(
                nn.Conv2d(8, 8, 3, padding=rate, dilation=rate) for rate in (2, 4, 6)
            )
            self.pooled, self.head = nn.Conv2d(8, 8, 1), nn.Conv2d(32, 5, 1)

        def forward(self, x):
            y = self.stem(x)
            pooled = self.pooled(F.adaptive_avg_pool2d(y, 1))
            pooled = F.interpolate(pooled, y.shape[2:], mode="bilinear", align_corners=False)
            y = self.head(torch.cat([*(rate(y) for rate in self.rates), pooled], 1))
            return F.interpolate(y, x.shape[2:], mode="bilinear", align_corners=False)

    return Model(), (torch.randn(1, 3, 33, 33),)


@family
def psp_pool():
    class Model(nn.Module):
        def forward(self, x):
            maps = [F.adaptive_avg_pool2d(x, size) for size in (1, 2, 3, 6)]
            maps = [F.interpolate(one, x.shape[2:], mode="bicubic") for one in maps]
            return torch.cat([x, *maps], 1)

    return Model(), (torch.randn(1, 4, 12, 12),)


@family
def unet_3d():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Sequential(
                nn.Conv3d(1, 8, 3, padding=1), nn.InstanceNorm3d(8, affine=True)
            )
            self.second = nn.Sequential(nn.Conv3d(8, 16, 3, padding=1), nn.BatchNorm3d(16))
            self.up, self.last = nn.ConvTranspose3d(16, 8, 2, 2), nn.Conv3d(16, 2, 1)

        def forward(self, x):
            fine = F.leaky_relu(self.first(x), 0.01)
            y = self.up(F.relu(self.second(F.max_pool3d(fine, 2))))
            return self.last(torch.cat([fine, y], 1)).softmax(1)

    return Model(), (torch.randn(1, 1, 8, 8, 8),)


@family
def video_3d():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.space = nn.Conv3d(3, 8, (1, 3, 3), padding=(0, 1, 1))
            self.time = nn.Conv3d(8, 8, (3, 1, 1), padding=(1, 0, 0), groups=4)
            self.head = nn.Linear(8, 4)

        def forward(self, x):
            y = F.relu(self.time(F.relu(self.space(x))))
            shifted = torch.cat([y[:, :2, 1:], y[:, :2, :1]], 2)
            y = torch.cat([shifted, y[:, 2:]], 1)
            return self.head(F.adaptive_avg_pool3d(F.avg_pool3d(y, 2), 1).flatten(1))

    return Model(), (torch.randn(1, 3, 4, 8, 8),)
