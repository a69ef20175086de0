"""Functions of PyTorch that hipgraft decomposes itself, against PyTorch's."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import hipgraft.torch  # noqa: E402
from hipgraft.ir.diagnostics import HipgraftError  # noqa: E402

F = torch.nn.functional
X = torch.randn(5, 8, generator=torch.Generator().manual_seed(0))
SPECIAL = torch.tensor([[2.0, float("nan"), 1, 3], [1, 5, 5, float("-inf")], [0, -1, -1, -2]])
TURNS = torch.polar(torch.ones(5, 4), torch.arange(20.0).reshape(5, 4))


def fourier_layer(x):
    spectrum = torch.zeros(5, 5, dtype=torch.cfloat)
    spectrum[:, :3] = torch.fft.rfft(x)[:, :3] * (1 - 2j)
    return torch.fft.irfft(spectrum, n=8), torch.fft.fft(x).angle()


def signal(x):
    options = {"n_fft": 10, "hop_length": 4, "window": torch.hann_window(10)}
    spectrum = torch.stft(x.reshape(1, 40), return_complex=True, **options)
    return torch.istft(spectrum / 2, length=40, **options), spectrum.abs()


def moved(x):
    z = torch.fft.fft(x)
    padded = F.pad(z, (1, 0), value=2.0)
    filled = torch.full((5, 8), 1 + 2j) + z
    first, second = torch.stack([z, torch.full_like(z, 3j)]).unbind(0)
    both = torch.cat([filled, first * second], 1)
    return torch.view_as_real(padded), torch.view_as_real(both)


CASES = {
    "bag": (lambda x: F.embedding_bag(torch.tensor([[4, 0, 1]]), x, mode="max"), X),
    "cdist": (lambda x: torch.cdist(x, x[:3]), X),
    "cross_entropy": (
        lambda x: F.cross_entropy(
            x, torch.tensor([3, 0, 7, 2, 2]), ignore_index=2, label_smoothing=0.1
        ),
        X,
    ),
    "cummax": (lambda x: torch.cummax(x, 1), SPECIAL),
    "fourier_layer": (fourier_layer, X),
    "hypot": (lambda x: torch.hypot(x, x.flip(1)), SPECIAL),
    "linalg_norm": (torch.linalg.norm, X),
    "moved": (moved, X),
    "rotation": (
        lambda x: torch.view_as_real(torch.view_as_complex(x.reshape(5, 4, 2)) * TURNS),
        X,
    ),
    "searchsorted": (lambda x: torch.searchsorted(torch.arange(-4.0, 4.0), x, right=True), X),
    "signal": (signal, X),
    "smooth_resize": (
        lambda x: F.interpolate(x[None, None], (3, 11), mode="bicubic", antialias=True),
        X,
    ),
    "uneven_resize": (lambda x: F.interpolate(x[None, None], scale_factor=1.7), X),
}


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def exported(function, x):
    return torch.export.export(Function(function), (x,), strict=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_what_they_compute(name):
    function, x = CASES[name]
    expected = function(x)
    found = hipgraft.torch.compile(exported(function, x), target="cpu").run([x.numpy()])
    for one, other in zip(
        found, expected if isinstance(expected, tuple) else [expected], strict=True
    ):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (torch.fft.fft, "a result of the exported program is complex"),
        (lambda x: torch.fft.fft(x).sqrt().real, "'aten.sqrt.default' of complex numbers"),
        (lambda x: torch.fft.fft(x, n=5000).real, "a Fourier transform of 5000 elements exceeds"),
    ],
)
def test_complex_numbers_that_are_refused(function, message):
    with pytest.raises(HipgraftError, match=message):
        hipgraft.torch.compile(exported(function, X), target="cpu")


def test_complex_inputs_are_refused():
    program = exported(lambda x: torch.view_as_real(x), TURNS)
    with pytest.raises(HipgraftError, match="the input 'x' of the exported program is complex"):
        hipgraft.torch.compile(program, target="cpu")
