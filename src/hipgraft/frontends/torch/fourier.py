"""Computes Fourier transforms of real and imaginary parts as products with cosine matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi
from typing import Any

from hipgraft.frontends.torch.complex_numbers import Parts, matmul, parts, whole
from hipgraft.frontends.torch.pytorch import aten, torch
from hipgraft.ir.diagnostics import HipgraftError

_LONGEST = 4096
"""The longest transform; a matrix of it takes 128 MB."""


def _factors(rows: int, columns: int, count: int, sign: int, like: Any) -> Parts:
    """Returns the powers of the `count`-th root of 1, `[rows, columns]`."""
    if count > _LONGEST:
        raise HipgraftError(f"a Fourier transform of {count} elements exceeds {_LONGEST}")
    row, column = (torch.arange(one, device=like.device) for one in (rows, columns))
    turn = row.unsqueeze(-1) * column % count
    angle = turn.to(like.dtype) * (2 * pi / count)
    # Exact zeros keep real results real, and preserve the signs of their angles.
    cosine = torch.where(4 * turn % (2 * count) == count, 0.0, angle.cos())
    sine = torch.where(2 * turn % count == 0, 0.0, angle.sin())
    return Parts(cosine, sine * sign)


def _scale(count: int, norm: str | None, is_inverse: bool) -> float:
    if norm == "ortho":
        return count**-0.5
    return 1 / count if is_inverse == (norm in (None, "backward")) else 1.0


def _fitted(x: Any, extent: int) -> Any:
    """Crops or pads the last dimension."""
    have = x.shape[-1]
    return x[..., :extent] if have >= extent else torch.nn.functional.pad(x, (0, extent - have))


def _forward(x: Any, count: int, taken: int, norm: str | None, is_inverse: bool) -> Parts:
    """Transforms the last dimension; returns its first `taken` frequencies."""
    real, imag = (None if one is None else _fitted(one, count) for one in parts(x))
    matrix = _factors(count, taken, count, 1 if is_inverse else -1, real)
    scale = _scale(count, norm, is_inverse)
    return Parts(*(one * scale for one in whole(matmul(Parts(real, imag), matrix))))


def _to_real(x: Any, count: int, norm: str | None, is_inverse: bool) -> Any:
    """Transforms the non-negative frequencies in the last dimension to `count` real numbers."""
    half = count // 2 + 1
    real, imag = (_fitted(one, half) for one in whole(x))
    matrix = _factors(half, count, count, 1 if is_inverse else -1, real)
    frequency = torch.arange(half, device=real.device)
    is_single = (frequency == 0) | (frequency * 2 == count)
    weight = torch.where(is_single, 1.0, 2.0).to(real.dtype) * _scale(count, norm, is_inverse)
    real, imag = real * weight, imag * weight
    return torch.matmul(real, matrix.real) - torch.matmul(imag, matrix.imag)


def _moved(x: Any, dim: int, to: int) -> Any:
    if not isinstance(x, Parts):
        return x.movedim(dim, to)
    return Parts(*(None if one is None else one.movedim(dim, to) for one in x))


def _along(x: Any, dim: int, compute: Callable[[Any], Any]) -> Any:
    return _moved(compute(_moved(x, dim, -1)), -1, dim)


def _extent(x: Any, dim: int) -> int:
    return parts(x).real.shape[dim]


def _complex(is_inverse: bool) -> Callable[..., Parts]:
    def transform(x: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Parts:
        count = n or _extent(x, dim)
        return _along(x, dim, lambda one: _forward(one, count, count, norm, is_inverse))

    return transform


def _halved(x: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Parts:
    count = n or _extent(x, dim)
    return _along(x, dim, lambda one: _forward(one, count, count // 2 + 1, norm, False))


def _doubled(is_inverse: bool) -> Callable[..., Any]:
    def transform(x: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        count = n or 2 * (_extent(x, dim) - 1)
        return _along(x, dim, lambda one: _to_real(one, count, norm, is_inverse))

    return transform


def _dims(x: Any, sizes: Sequence[int] | None, dim: Sequence[int] | None) -> list[int]:
    if dim is not None:
        return list(dim)
    rank = parts(x).real.ndim
    return list(range(-(len(sizes) if sizes is not None else rank), 0))


def _several(is_inverse: bool, last: Callable[..., Any] | None) -> Callable[..., Any]:
    """Returns the transform of several dimensions; `last` transforms the last one."""
    each = _complex(is_inverse)

    def transform(
        x: Any,
        s: Sequence[int] | None = None,
        dim: Sequence[int] | None = None,
        norm: str | None = None,
    ) -> Any:
        dims = _dims(x, s, dim)
        counts: list[int | None] = [None] * len(dims) if s is None else list(s)
        if last is not None and not is_inverse:
            x = last(x, counts[-1], dims[-1], norm)
        for count, one in zip(counts, dims, strict=True):
            if last is None or one != dims[-1]:
                x = each(x, count, one, norm)
        return last(x, counts[-1], dims[-1], norm) if last is not None and is_inverse else x

    return transform


def _of_images(transform: Callable[..., Any]) -> Callable[..., Any]:
    def on_images(x: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Any:
        return transform(x, s, dim, norm)

    return on_images


def _spectrogram(
    x: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:
    """Transforms frames of `[..., L]`; returns `[..., frequencies, frames]`."""
    if isinstance(x, Parts) or not return_complex or align_to_window:
        return NotImplemented
    frames = x.unfold(-1, n_fft, hop_length or n_fft // 4)
    if window is not None or (win_length or n_fft) != n_fft:
        frames = frames * _window(window, n_fft, win_length, x)
    norm = "ortho" if normalized else None
    taken = n_fft if onesided is False else n_fft // 2 + 1
    return _moved(_forward(frames, n_fft, taken, norm, False), -1, -2)


def _window(window: Any, n_fft: int, win_length: int | None, like: Any) -> Any:
    length = win_length or n_fft
    if window is None:
        window = torch.ones(length, dtype=like.dtype, device=like.device)
    before = (n_fft - length) // 2
    return torch.nn.functional.pad(window, (before, n_fft - length - before))


def _signal(
    x: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Any:
    """Inverts `_spectrogram`: the frames overlap, and are divided by the sum of the windows."""
    if onesided is False or return_complex:
        return NotImplemented
    hop, spectrum = hop_length or n_fft // 4, _moved(x, -1, -2)
    is_single = parts(x).real.ndim == 2
    frames = _to_real(spectrum, n_fft, "ortho" if normalized else None, True)
    frames = frames.unsqueeze(0) if is_single else frames
    window = _window(window, n_fft, win_length, frames)
    count = frames.shape[-2]
    whole_length = n_fft + hop * (count - 1)

    def overlapped(one: Any) -> Any:
        fold = torch.nn.functional.fold
        added = fold(one.mT, (1, whole_length), (1, n_fft), stride=(1, hop))
        return added.reshape(one.shape[0], whole_length)

    weights = overlapped((window * window).expand(1, count, n_fft))
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else whole_length - start
    taken = slice(start, min(end, whole_length))
    signal = overlapped(frames * window)[:, taken] / weights[:, taken]
    if length is not None:
        signal = _fitted(signal, length)
    return signal.squeeze(0) if is_single else signal


FOURIER: dict[Any, Callable[..., Any]] = {
    aten.fft_fft.default: _complex(False),
    aten.fft_ifft.default: _complex(True),
    aten.fft_rfft.default: _halved,
    aten.fft_irfft.default: _doubled(True),
    aten.fft_hfft.default: _doubled(False),
    aten.fft_fftn.default: _several(False, None),
    aten.fft_ifftn.default: _several(True, None),
    aten.fft_rfftn.default: _several(False, _halved),
    aten.fft_irfftn.default: _several(True, _doubled(True)),
    aten.fft_fft2.default: _of_images(_several(False, None)),
    aten.fft_ifft2.default: _of_images(_several(True, None)),
    aten.fft_rfft2.default: _of_images(_several(False, _halved)),
    aten.fft_irfft2.default: _of_images(_several(True, _doubled(True))),
    aten.stft.default: _spectrogram,
    aten.istft.default: _signal,
}
"""The rules of transforms, by `OpOverload`."""
