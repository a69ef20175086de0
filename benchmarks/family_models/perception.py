"""Vision models: detection and segmentation."""

from __future__ import annotations

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


# Detection


@family
def focal_pyramid():
    """A pyramid of features, one head for all levels, and the boxes of all anchors; RetinaNet."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.ModuleList([conv(3, 8, 3, 2), conv(8, 8, 3, 2), conv(8, 8, 3, 2)])
            self.lateral = nn.ModuleList(conv(8, 8, 1) for _ in range(3))
            self.scores, self.boxes = conv(8, 3 * 4), conv(8, 3 * 4)

        def forward(self, x):
            levels = []
            for one in self.stem:
                x = F.relu(one(x))
                levels.append(x)
            top, found = None, []
            for one, lateral in zip(levels[::-1], self.lateral, strict=True):
                y = lateral(one)
                if top is not None:
                    y = y + F.interpolate(top, size=y.shape[2:], mode="nearest")
                top = y
                parts = (self.scores(y).sigmoid(), self.boxes(y))
                found.append(
                    [p.unflatten(1, (3, 4)).permute(0, 3, 4, 1, 2).flatten(1, 3) for p in parts]
                )
            scores, boxes = (torch.cat(one, 1) for one in zip(*found, strict=True))
            centre, size = boxes[..., :2], boxes[..., 2:].clamp(max=4.0).exp()
            return scores, torch.cat([centre - size / 2, centre + size / 2], -1)

    return Model(), (image(size=32),)


@family
def distances_to_sides():
    """Distances to the sides as expectations over bins, and centre-ness; as in GFL and FCOS."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem, self.head = conv(3, 16, 3, 4), conv(16, 4 * 8 + 5)
            self.norm = nn.GroupNorm(4, 16)
            self.register_buffer("bins", torch.arange(8.0))

        def forward(self, x):
            y = self.head(F.relu(self.norm(self.stem(x)))).flatten(2).transpose(1, 2)
            sides, scores = y.split([32, 5], -1)
            distance = sides.unflatten(-1, (4, 8)).softmax(-1) @ self.bins.to(x.dtype)
            rows, columns = torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")
            points = torch.stack([columns, rows], -1).flatten(0, 1).to(x.dtype) + 0.5
            boxes = torch.cat([points - distance[..., :2], points + distance[..., 2:]], -1)
            left, right = distance[..., :2], distance[..., 2:]
            ratio = torch.minimum(left, right) / torch.maximum(left, right).clamp(min=1e-3)
            return boxes * 4, scores.sigmoid() * ratio.prod(-1, keepdim=True).sqrt()

    return Model(), (image(),)


@family
def best_queries():
    """The best positions become queries that attend to all; as in RT-DETR."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem, self.score, self.box = conv(3, 16, 4, 4), nn.Linear(16, 5), nn.Linear(16, 4)
            self.self_attention = nn.MultiheadAttention(16, 4, batch_first=True)
            self.cross_attention = nn.MultiheadAttention(16, 4, batch_first=True)

        def forward(self, x):
            memory = self.stem(x).flatten(2).transpose(1, 2)
            _, best = self.score(memory).amax(-1).topk(6, 1)
            query = memory.gather(1, best[..., None].expand(-1, -1, 16))
            query = query + self.self_attention(query, query, query, need_weights=False)[0]
            query = query + self.cross_attention(query, memory, memory, need_weights=False)[0]
            return self.score(query), self.box(query).sigmoid(), best

    return Model(), (image(),)


@family
def keypoints():
    """Maxima of heat maps with a quarter of a step to the greater neighbour; as in HRNet."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.up = conv(3, 8, 3, 2), nn.ConvTranspose2d(8, 5, 4, 2, 1)

        def forward(self, x):
            maps = self.up(F.relu(self.body(x)))
            values, place = maps.flatten(2).max(-1)
            rows, columns = place // 16, place % 16
            flat = F.pad(maps, (1, 1, 1, 1)).flatten(2)
            at = ((rows + 1) * 18 + columns + 1)[..., None]
            right, left = (flat.gather(2, at + step) for step in (1, -1))
            below, above = (flat.gather(2, at + step) for step in (18, -18))
            moves = torch.cat([(right - left).sign(), (below - above).sign()], -1) * 0.25
            return torch.stack([columns, rows], -1).to(x.dtype) + moves, values

    return Model(), (image(),)


@family
def rotated_boxes():
    """Boxes with angles to their corners, and IoU of their upright hulls."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(8, 5)

        def forward(self, x):
            centre, size, angle = self.head(x).split([2, 2, 1], -1)
            size = F.softplus(size)
            signs = torch.tensor([[-1.0, -1], [1, -1], [1, 1], [-1, 1]]).to(x.dtype) / 2
            corner = size[:, None] * signs
            cos, sin = angle.cos(), angle.sin()
            turned = torch.stack(
                [corner[..., 0] * cos - corner[..., 1] * sin,
                 corner[..., 0] * sin + corner[..., 1] * cos], -1
            )  # fmt: skip
            corners = turned + centre[:, None]
            low, high = corners.amin(1), corners.amax(1)
            lower, upper = torch.maximum(low[:, None], low), torch.minimum(high[:, None], high)
            shared = (upper - lower).clamp(min=0).prod(-1)
            area = (high - low).prod(-1)
            return corners, shared / (area[:, None] + area - shared)

    return Model(), (torch.randn(6, 8),)


# Segmentation


@family
def mlp_decoder():
    """Stages with reduced attention, and a decoder of linear layers; as in SegFormer."""

    class Stage(nn.Module):
        def __init__(self, inside, outside, stride, reduction):
            super().__init__()
            self.patch, self.norm = conv(inside, outside, 3, stride), nn.LayerNorm(outside)
            self.q, self.kv = nn.Linear(outside, outside), nn.Linear(outside, 2 * outside)
            self.reduce = nn.Conv2d(outside, outside, reduction, reduction)
            self.mix = nn.Conv2d(outside, outside, 3, padding=1, groups=outside)

        def forward(self, x):
            x = self.patch(x)
            y = self.norm(x.flatten(2).transpose(1, 2))
            small = self.reduce(y.transpose(1, 2).unflatten(2, x.shape[2:])).flatten(2)
            k, v = self.kv(small.transpose(1, 2)).chunk(2, -1)
            q = heads(self.q(y), 2)
            z = F.scaled_dot_product_attention(q, heads(k, 2), heads(v, 2))
            y = (y + z.transpose(1, 2).flatten(2)).transpose(1, 2).unflatten(2, x.shape[2:])
            return y + F.gelu(self.mix(y))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.stages = nn.ModuleList([Stage(3, 8, 4, 4), Stage(8, 16, 2, 2)])
            self.linear = nn.ModuleList([conv(8, 8, 1), conv(16, 8, 1)])
            self.head = conv(16, 4, 1)

        def forward(self, x):
            found = []
            for stage, linear in zip(self.stages, self.linear, strict=True):
                x = stage(x)
                found.append(F.interpolate(linear(x), size=(8, 8), mode="bilinear"))
            return F.interpolate(self.head(torch.cat(found, 1)), scale_factor=4, mode="bilinear")

    return Model(), (image(size=32),)


@family
def attention_gates():
    """A U-Net whose skips are weighted by gates, with transposed convolutions."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = conv(1, 8), conv(8, 16)
            self.norms = nn.ModuleList([nn.InstanceNorm2d(8, affine=True), nn.BatchNorm2d(16)])
            self.up, self.gate = nn.ConvTranspose2d(16, 8, 2, 2), conv(16, 8, 1)
            self.score, self.last = conv(8, 1, 1), conv(16, 3)

        def forward(self, x):
            skip = F.leaky_relu(self.norms[0](self.one(x)), 0.01)
            low = F.relu(self.norms[1](self.two(F.max_pool2d(skip, 2))))
            up = self.up(low)
            weight = self.score(F.relu(self.gate(torch.cat([up, skip], 1)))).sigmoid()
            return self.last(torch.cat([up, skip * weight], 1)).argmax(1)

    return Model(), (image(1, 16),)


@family
def queries_of_masks():
    """Products of queries and pixels, with attention inside the last masks; as in Mask2Former."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.pixels, self.queries = conv(3, 16, 4, 4), nn.Parameter(torch.randn(5, 16))
            self.q, self.kv, self.norm = nn.Linear(16, 16), nn.Linear(16, 32), nn.LayerNorm(16)
            self.classes = nn.Linear(16, 4)

        def forward(self, x):
            memory = self.pixels(x).flatten(2).transpose(1, 2)
            query = self.queries[None].expand(x.shape[0], -1, -1)
            for _ in range(2):
                masks = query @ memory.transpose(1, 2)
                inside = masks.sigmoid() < 0.5
                inside = inside & ~inside.all(-1, keepdim=True)
                k, v = self.kv(memory).chunk(2, -1)
                scores = (self.q(query) @ k.transpose(1, 2) / 4).masked_fill(inside, float("-inf"))
                query = self.norm(query + scores.softmax(-1) @ v)
            masks = (query @ memory.transpose(1, 2)).sigmoid()
            classes = self.classes(query).softmax(-1)[..., :-1]
            return torch.einsum("bqc,bqp->bcp", classes, masks)

    return Model(), (image(),)


@family
def prototypes_of_masks():
    """Masks as sums of prototypes, cropped by their boxes; as in YOLACT."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.prototypes = conv(3, 8, 3, 2), conv(8, 6)
            self.head = nn.Linear(8, 6 + 4)

        def forward(self, x):
            y = F.relu(self.body(x))
            basis = F.relu(self.prototypes(y))[0]
            found = self.head(y.flatten(2).transpose(1, 2)[0, ::16])
            factors, boxes = found.split([6, 4], -1)
            masks = torch.einsum("nk,khw->nhw", factors.tanh(), basis).sigmoid()
            centre, size = boxes[:, :2].sigmoid(), boxes[:, 2:].sigmoid()
            places = (torch.arange(8).to(x.dtype) + 0.5) / 8
            low, high = centre - size / 2, centre + size / 2
            inside = (places >= low[..., None]) & (places < high[..., None])
            return masks * (inside[:, 1, :, None] & inside[:, 0, None]).to(x.dtype)

    return Model(), (image(),)


@family
def pyramid_pooling():
    """Averages of several sizes, dilated branches, and bilinear upsampling with corners aligned."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = conv(3, 8, 3, 2)
            self.dilated = nn.ModuleList(
                nn.Conv2d(8, 4, 3, padding=d, dilation=d, bias=False) for d in (1, 2, 4)
            )
            self.pooled, self.head = conv(8, 4, 1), conv(4 * 5, 3, 1)

        def forward(self, x):
            y = F.relu(self.body(x))
            found = [one(y) for one in self.dilated]
            for size in (1, 4):
                small = self.pooled(F.adaptive_avg_pool2d(y, size))
                found.append(F.interpolate(small, size=(8, 8), mode="bilinear", align_corners=True))
            y = self.head(torch.cat(found, 1))
            return F.interpolate(y, size=(16, 16), mode="bilinear", align_corners=True)

    return Model(), (image(),)


@family
def depth_by_bins():
    """Depth as an expectation over bins whose widths the image determines; as in AdaBins."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.widths, self.share = conv(3, 8, 3, 2), nn.Linear(8, 6), conv(8, 6, 1)

        def forward(self, x):
            y = F.elu(self.body(x))
            widths = F.softplus(self.widths(y.mean((2, 3)))) + 0.1
            widths = widths / widths.sum(1, keepdim=True)
            edges = F.pad(widths, (1, 0)).cumsum(1)
            centres = 0.1 + 9.9 * (edges[:, :-1] + edges[:, 1:]) / 2
            return (self.share(y).softmax(1) * centres[..., None, None]).sum(1, keepdim=True)

    return Model(), (image(),)


@family
def flow_by_correlation():
    """Correlations of shifted features, and an image that a flow warps; as in PWC-Net."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.flow = conv(3, 8), conv(25, 2)

        def forward(self, left, right):
            a, b = self.body(left), F.pad(self.body(right), (2, 2, 2, 2))
            shifted = [
                (a * b[:, :, i : i + 8, j : j + 8]).mean(1) for i in range(5) for j in range(5)
            ]
            flow = self.flow(F.leaky_relu(torch.stack(shifted, 1), 0.1))
            line = (torch.arange(8).to(left.dtype) * 2 + 1) / 8 - 1
            grid = torch.stack(torch.meshgrid(line, line, indexing="ij")[::-1], -1)[None]
            moved = grid + flow.permute(0, 2, 3, 1) / 4
            return F.grid_sample(right, moved, align_corners=False, padding_mode="border"), flow

    return Model(), (image(size=8), image(size=8))
