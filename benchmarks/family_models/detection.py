"""Detection, tracking and matching."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from family_models import family
from family_models.vision import conv


@family
def detr():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = conv(3, 16, 3, 4)
            self.transformer = nn.Transformer(16, 2, 1, 1, 32, batch_first=True)
            self.queries = nn.Parameter(torch.randn(5, 16))
            self.kinds, self.boxes = nn.Linear(16, 4), nn.Linear(16, 4)
            self.row, self.column = nn.Parameter(torch.rand(8, 8)), nn.Parameter(torch.rand(8, 8))

        def forward(self, x):
            y = self.body(x)
            h, w = y.shape[2:]
            place = torch.cat(
                [self.column[:w][None].repeat(h, 1, 1), self.row[:h][:, None].repeat(1, w, 1)], -1
            ).flatten(0, 1)
            y = self.transformer(y.flatten(2).transpose(1, 2) + place, self.queries[None])
            cx, cy, bw, bh = self.boxes(y).sigmoid().unbind(-1)
            boxes = torch.stack([cx - bw / 2, cy - bh / 2, cx + bw / 2, cy + bh / 2], -1)
            return self.kinds(y).softmax(-1), boxes

    return Model(), (torch.randn(1, 3, 32, 32),)


class _Yolo(nn.Module):
    """Distributions of distances, decoded by anchors; as in YOLOv8."""

    def __init__(self):
        super().__init__()
        self.stem, self.down = conv(3, 16, 3, 4), conv(16, 16, 3, 2)
        self.boxes = nn.ModuleList(nn.Conv2d(16, 4 * 8, 1) for _ in range(2))
        self.kinds = nn.ModuleList(nn.Conv2d(16, 3, 1) for _ in range(2))
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        a = self.stem(x)
        b = self.pool(self.down(a))
        ys, anchors, strides = [], [], []
        for y, box, kind, stride in zip((a, b), self.boxes, self.kinds, (4, 8), strict=True):
            h, w = y.shape[2:]
            ys.append(torch.cat([box(y), kind(y)], 1).flatten(2))
            v, u = torch.meshgrid(torch.arange(h) + 0.5, torch.arange(w) + 0.5, indexing="ij")
            anchors.append(torch.stack([u, v], -1).view(-1, 2))
            strides.append(torch.full((h * w, 1), float(stride)))
        boxes, kinds = torch.cat(ys, 2).split([32, 3], 1)
        anchor, stride = torch.cat(anchors).T.to(x.dtype), torch.cat(strides).T.to(x.dtype)
        p = boxes.view(x.shape[0], 4, 8, -1).transpose(1, 2).softmax(1)
        distance = (p * torch.arange(8).to(x.dtype)[:, None, None]).sum(1)
        low, high = anchor - distance[:, :2], anchor + distance[:, 2:]
        return torch.cat([low, high], 1) * stride, kinds.sigmoid()


@family
def yolo():
    return _Yolo(), (torch.randn(1, 3, 32, 32),)


@family
def yolo_nms():
    import torchvision

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = _Yolo()

        def forward(self, x):
            boxes, kinds = self.body(x)
            boxes, scores = boxes[0].T, kinds[0].max(0).values
            kept = torchvision.ops.nms(boxes, scores, 0.5)[:5]
            return boxes[kept], scores[kept]

    return Model(), (torch.randn(1, 3, 32, 32),)


@family
def centernet():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.up = conv(3, 16, 3, 4), nn.ConvTranspose2d(16, 8, 4, 2, 1)
            self.heat, self.size = nn.Conv2d(8, 2, 1), nn.Conv2d(8, 2, 1)

        def forward(self, x):
            y = self.up(self.body(x))
            heat = self.heat(y).sigmoid()
            heat = heat * (F.max_pool2d(heat, 3, 1, 1) == heat).to(x.dtype)
            h, w = heat.shape[2:]
            score, at = heat.flatten(1).topk(6)
            kind, at = at // (h * w), at % (h * w)
            v, u = torch.div(at, w, rounding_mode="floor"), at % w
            size = self.size(y).flatten(2).gather(2, at[:, None].expand(-1, 2, -1)).transpose(1, 2)
            centre = torch.stack([u, v], -1).to(x.dtype)
            return torch.cat([centre - size / 2, centre + size / 2, score[..., None]], -1), kind

    return Model(), (torch.randn(1, 3, 32, 32),)


@family
def fpn_roi_align():
    import torchvision

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = conv(3, 8, 3, 4), conv(8, 16, 3, 2)
            self.side, self.top = nn.Conv2d(8, 8, 1), nn.Conv2d(16, 8, 1)
            self.head = nn.Linear(8 * 9, 5)

        def forward(self, x, boxes):
            one = self.one(x)
            top = self.top(self.two(one))
            low = self.side(one) + F.interpolate(top, scale_factor=2, mode="nearest")
            rois = torch.cat([torch.zeros_like(boxes[:, :1]), boxes], 1)
            a = torchvision.ops.roi_align(low, rois, 3, 0.25, 2, aligned=True)
            b = torchvision.ops.roi_align(top, rois, 3, 0.125, 2, aligned=True)
            area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
            level = torch.floor(4 + torch.log2(area.sqrt() / 224 + 1e-6))
            y = torch.where((level < -1)[:, None, None, None], a, b)
            return self.head(y.flatten(1))

    corners = torch.rand(4, 2) * 12
    boxes = torch.cat([corners, corners + 4 + torch.rand(4, 2) * 12], 1)
    return Model(), (torch.randn(1, 3, 32, 32), boxes)


@family
def roi_pool():
    import torchvision

    class Model(nn.Module):
        def forward(self, x, boxes):
            return torchvision.ops.roi_pool(x, boxes, 3, 0.5)

    boxes = torch.tensor([[0, 1.0, 2, 12, 14], [0, 4, 4, 20, 18]])
    return Model(), (torch.randn(1, 4, 12, 12), boxes)


@family
def ssd():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = conv(3, 8, 3, 4), conv(8, 8, 3, 2)
            self.norm = nn.Parameter(torch.full((8,), 20.0))
            self.kinds = nn.ModuleList(nn.Conv2d(8, 2 * 3, 3, padding=1) for _ in range(2))
            self.boxes = nn.ModuleList(nn.Conv2d(8, 2 * 4, 3, padding=1) for _ in range(2))
            self.register_buffer("priors", torch.rand(160, 4) + 0.1)

        def forward(self, x):
            a = self.one(x)
            maps = [self.norm[None, :, None, None] * F.normalize(a), self.two(a)]
            kinds = [
                f(y).permute(0, 2, 3, 1).reshape(1, -1, 3)
                for f, y in zip(self.kinds, maps, strict=True)
            ]
            boxes = [
                f(y).permute(0, 2, 3, 1).reshape(1, -1, 4)
                for f, y in zip(self.boxes, maps, strict=True)
            ]
            scores, deltas = torch.cat(kinds, 1).softmax(-1), torch.cat(boxes, 1)
            centre = self.priors[:, :2] + deltas[..., :2] * 0.1 * self.priors[:, 2:]
            size = self.priors[:, 2:] * torch.exp(deltas[..., 2:] * 0.2)
            boxes = torch.cat([centre - size / 2, centre + size / 2], -1)
            best, at = scores[0, :, 1].topk(10)
            return best, boxes[0].index_select(0, at).clamp(0, 1)

    return Model(), (torch.randn(1, 3, 32, 32),)


@family
def deformable_conv():
    import torchvision

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.offset, self.mask = nn.Conv2d(4, 18, 3, padding=1), nn.Conv2d(4, 9, 3, padding=1)
            self.conv = torchvision.ops.DeformConv2d(4, 8, 3, padding=1)

        def forward(self, x):
            return self.conv(x, self.offset(x), self.mask(x).sigmoid())

    return Model(), (torch.randn(1, 4, 10, 10),)


@family
def deformable_detr():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.offsets, self.weights = nn.Linear(16, 2 * 2 * 4 * 2), nn.Linear(16, 2 * 8)
            self.value, self.out = nn.Linear(16, 16), nn.Linear(16, 16)

        def forward(self, query, points, a, b):
            n, q, _ = query.shape
            offsets = self.offsets(query).view(n, q, 2, 2, 4, 2)
            weights = self.weights(query).view(n, q, 2, 8).softmax(-1).view(n, q, 2, 2, 4)
            total = []
            for level, feature in enumerate((a, b)):
                h, w = feature.shape[2:]
                v = self.value(feature.flatten(2).transpose(1, 2))
                v = v.view(n, h * w, 2, 8).permute(0, 2, 3, 1).reshape(n * 2, 8, h, w)
                size = torch.tensor([w, h], dtype=query.dtype)
                at = points[:, :, None, None] + offsets[:, :, :, level] / size
                grid = (2 * at - 1).transpose(1, 2).flatten(0, 1)
                total.append(F.grid_sample(v, grid, align_corners=False))
            sampled = torch.stack(total, -2).flatten(-2)
            weights = weights.transpose(1, 2).reshape(n * 2, 1, q, 8)
            y = (sampled * weights).sum(-1).view(n, 16, q)
            return self.out(y.transpose(1, 2))

    return Model(), (
        torch.randn(1, 5, 16),
        torch.rand(1, 5, 2),
        torch.randn(1, 16, 8, 8),
        torch.randn(1, 16, 4, 4),
    )


@family
def segment_anything():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("basis", torch.randn(2, 8))
            self.kinds = nn.Embedding(2, 16)
            self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
            self.up = nn.Sequential(nn.ConvTranspose2d(16, 8, 2, 2), nn.GELU())
            self.hyper, self.iou = nn.Linear(16, 8), nn.Linear(16, 3)

        def forward(self, features, points, labels):
            x = (2 * points - 1) @ self.basis * 2 * torch.pi
            x = torch.cat([x.sin(), x.cos()], -1)
            x = torch.where(
                (labels == 1)[..., None], x + self.kinds.weight[1], x + self.kinds.weight[0]
            )
            image = features.flatten(2).transpose(1, 2)
            x = x + self.attention(x, image, image, need_weights=False)[0]
            up = self.up(features)
            masks = (self.hyper(x) @ up.flatten(2)).view(1, -1, *up.shape[2:])
            masks = F.interpolate(masks, (32, 32), mode="bilinear", align_corners=False)
            return masks > 0, masks, self.iou(x[:, 0])

    return Model(), (torch.randn(1, 16, 4, 4), torch.rand(1, 3, 2), torch.tensor([[1, 0, 1]]))


@family
def feature_matching():
    """Optimal transport by Sinkhorn's iterations, mutual matches."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.bin = nn.Linear(8, 8), nn.Parameter(torch.tensor(1.0))

        def forward(self, a, b):
            scores = torch.einsum("bnd,bmd->bnm", self.net(a), self.net(b)) / 8**0.5
            n, m = scores.shape[1:]
            scores = torch.cat([scores, self.bin.expand(1, n, 1)], 2)
            scores = torch.cat([scores, self.bin.expand(1, 1, m + 1)], 1)
            u, v = torch.zeros_like(scores[:, :, 0]), torch.zeros_like(scores[:, 0])
            for _ in range(3):
                u = -torch.logsumexp(scores + v[:, None], 2)
                v = -torch.logsumexp(scores + u[:, :, None], 1)
            z = scores + u[:, :, None] + v[:, None]
            inner = z[:, :-1, :-1]
            top, at = inner.max(2)
            back = inner.max(1).indices
            mutual = torch.arange(n)[None] == back.gather(1, at)
            return z, torch.where(mutual & (top.exp() > 0.1), at, -1)

    return Model(), (torch.randn(1, 6, 8), torch.randn(1, 5, 8))


@family
def box_losses():
    import torchvision

    class Model(nn.Module):
        def forward(self, boxes, others):
            iou = torchvision.ops.box_iou(boxes, others)
            giou = torchvision.ops.generalized_box_iou(boxes, others)
            best, at = iou.max(1)
            return iou, giou, torch.where(best > 0.3, at, -1)

    corners = torch.rand(6, 2)
    boxes = torch.cat([corners, corners + 0.1 + torch.rand(6, 2)], 1)
    return Model(), (boxes, boxes.flip(0)[:4] * 0.9)


@family
def ocr():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(conv(1, 8, 3, 2), conv(8, 16, 3, (2, 1)))
            self.rnn, self.head = nn.LSTM(64, 16, bidirectional=True), nn.Linear(32, 12)

        def forward(self, x):
            y = self.body(x)
            y, _ = self.rnn(y.permute(3, 0, 1, 2).flatten(2))
            p = self.head(y).log_softmax(2)
            best = p.argmax(2)
            repeated = torch.cat([torch.zeros_like(best[:1]), (best[1:] == best[:-1]).long()])
            return p, torch.where((best > 0) & (repeated == 0), best, -1)

    return Model(), (torch.randn(1, 1, 16, 40),)
