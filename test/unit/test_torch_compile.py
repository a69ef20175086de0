"""`torch.compile(..., backend="hipgraft")` and exported programs, against PyTorch itself."""

import copy
import gc
import subprocess
import sys
import threading
import warnings

import pytest

torch = pytest.importorskip("torch")

import hipgraft  # noqa: E402
import hipgraft.torch  # noqa: E402
from hipgraft.ir.diagnostics import HipgraftError, HipgraftWarning  # noqa: E402

F = torch.nn.functional
STRICT = {"fallback": "error"}
"""No part of a model may run in PyTorch."""


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()
    gc.collect()


def compiled(model, **options):
    return torch.compile(model, backend="hipgraft", options={**STRICT, **options})


def check(model, *inputs, **options):
    with torch.no_grad():
        torch.testing.assert_close(
            compiled(model, **options)(*inputs), model(*inputs), rtol=1e-4, atol=1e-5
        )


def check_step(model, *inputs):
    """Compares results, gradients and buffers of a training step."""
    ours, theirs = copy.deepcopy(model), copy.deepcopy(model)
    results = []
    for module, call in ((ours, compiled(ours)), (theirs, theirs)):
        torch.manual_seed(1)
        given = [one.clone().requires_grad_(one.is_floating_point()) for one in inputs]
        result = call(*given)
        result.square().sum().backward()
        gradients = [one.grad for one in (*given, *module.parameters())]
        results.append((result.detach(), gradients, list(module.buffers())))
    torch.testing.assert_close(*results, rtol=1e-3, atol=1e-4)


def mlp():
    return torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.GELU(), torch.nn.Linear(16, 4)
    )


def conv_net():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Dropout(0.3),
        torch.nn.Linear(128, 4),
    )


class Attention(torch.nn.Module):
    def __init__(self, causal=False):
        super().__init__()
        self.qkv = torch.nn.Linear(16, 48)
        self.causal = causal

    def forward(self, x, mask=None):
        q, k, v = self.qkv(x).view(*x.shape[:2], 3, 2, 8).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal)
        return out.transpose(1, 2).flatten(2)


def test_forward_by_the_name_of_the_backend():
    assert "hipgraft" in torch._dynamo.list_backends()
    check(mlp(), torch.randn(3, 8))
    check(conv_net().eval(), torch.randn(2, 3, 8, 8))


def test_averages_of_windows_that_overlap():
    check_step(torch.nn.AdaptiveAvgPool2d((3, 2)), torch.randn(2, 3, 7, 5))


def test_training_step_with_dropout_and_running_statistics():
    check_step(conv_net(), torch.randn(4, 3, 8, 8))


@pytest.mark.parametrize("causal", [False, True])
def test_attention_and_its_gradients(causal):
    model = Attention(causal)
    check(model, torch.randn(2, 5, 16))
    check_step(model, torch.randn(2, 5, 16))


def test_masks_of_attention_that_hide_all_keys_of_a_query():
    mask = torch.ones(2, 1, 5, 5, dtype=torch.bool).tril()
    mask[1, :, :, :2] = False
    check(Attention(), torch.randn(2, 5, 16), mask)
    check_step(Attention(), torch.randn(2, 5, 16), mask)


def test_elements_of_memory_that_are_replaced():
    def function(x, y):
        return torch.as_strided_scatter(x, y, (2, 3), (5, 2), 1)

    check(function, torch.randn(4, 4), torch.randn(2, 3))


@pytest.mark.parametrize("first", [False, True])
def test_fused_layers_of_transformers(first):
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=first)
    check(layer.eval(), torch.randn(2, 5, 16))
    attention = torch.nn.MultiheadAttention(16, 2, batch_first=True).eval()
    check(lambda q, k: attention(q, k, k), torch.randn(2, 5, 16), torch.randn(2, 7, 16))
    x = torch.randn(2, 5, 16)
    check(lambda x: attention(x, x, x), x)
    check(lambda x: attention(x, x, x, need_weights=False), x)


def test_attention_stays_one_op(monkeypatch):
    programs = []
    real = hipgraft.compile
    monkeypatch.setattr(
        "hipgraft.torch.kernels.hipgraft.compile",
        lambda *args, **kwargs: programs.append(real(*args, **kwargs)) or programs[-1],
    )
    check(Attention(), torch.randn(2, 5, 16))
    (program,) = programs
    assert any("sdpa" in row.name for row in program.report.graphs)


@pytest.mark.parametrize("dynamic", ["program", "specialize"])
def test_dynamic_shapes(dynamic):
    def function(x, y):
        return torch.cat([x, y], 0).softmax(-1) * x.shape[0], x.shape[0] * 2, x.t()

    call = torch.compile(
        function, backend="hipgraft", dynamic=True, options={**STRICT, "dynamic": dynamic}
    )
    for extent in (3, 5, 3):
        inputs = torch.randn(extent, 8), torch.randn(extent + 1, 8)
        torch.testing.assert_close(call(*inputs), function(*inputs))


def test_training_for_several_batches():
    model = mlp()
    call = compiled(model)
    for extent in (3, 5, 7):
        x = torch.randn(extent, 8)
        gradients = []
        for one in (call, model):
            model.zero_grad()
            one(x).square().sum().backward()
            gradients.append([parameter.grad for parameter in model.parameters()])
        torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)


def test_shapes_beyond_the_limit_run_in_pytorch():
    call = torch.compile(
        torch.relu,
        backend="hipgraft",
        dynamic=True,
        options={"dynamic": "specialize", "specializations": 1},
    )
    call(torch.randn(3, 4))
    x = torch.randn(5, 4)
    with pytest.warns(HipgraftWarning, match="more than 1 shapes"):
        ours = call(x)
    torch.testing.assert_close(ours, torch.relu(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error", HipgraftWarning)
        call(torch.randn(6, 4))


def test_mutation_and_aliasing():
    def function(x, y):
        x.add_(1)
        y[:, 0] = x.sum(1)
        view = x.view(-1)
        return view, y.t(), x * 2

    ours, theirs = [[torch.ones(3, 4), torch.zeros(3, 4)] for _ in range(2)]
    results = compiled(function)(*ours)
    torch.testing.assert_close(results, function(*theirs))
    torch.testing.assert_close(ours, theirs)
    results[0].zero_()
    assert ours[0].count_nonzero() == 0


def test_strides_of_results_are_those_of_pytorch():
    model = conv_net()[:3].eval().to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    with torch.no_grad():
        ours, theirs = compiled(model)(x), model(x)
    assert ours.stride() == theirs.stride()
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_results_that_are_expanded():
    def function(x):
        return (x * 2)[:, 1:2].expand(4, 8), (x + 1).sum().expand(3)

    x = torch.randn(4, 8)
    ours, theirs = compiled(function)(x), function(x)
    torch.testing.assert_close(ours, theirs)
    assert [one.stride() for one in ours] == [one.stride() for one in theirs]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "int32", "int64", "uint8"])
def test_element_types(dtype):
    kind = getattr(torch, dtype)
    x = torch.arange(12).reshape(3, 4).to(kind)

    def function(x):
        return x + x.t().reshape(3, 4), x > 3

    torch.testing.assert_close(compiled(function)(x), function(x))


def test_random_numbers_are_those_of_pytorch():
    def function(x):
        return F.dropout(x, 0.5) + torch.rand(3, 4), torch.randn_like(x) * x

    x = torch.randn(3, 4)
    torch.manual_seed(5)
    ours = compiled(function)(x)
    torch.manual_seed(5)
    torch.testing.assert_close(ours, function(x))


def test_an_op_that_does_not_compile_runs_in_pytorch_with_one_warning(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def function(x):
        return torch.linalg.eigvalsh(x + x.t()) * 2

    call = torch.compile(function, backend="hipgraft")
    x = torch.randn(4, 4)
    with pytest.warns(HipgraftWarning, match="linalg_eigh") as caught:
        ours = call(x)
    assert len([one for one in caught if one.category is HipgraftWarning]) == 1
    torch.testing.assert_close(ours, function(x))
    assert not list(tmp_path.glob("*.mlir"))  # no reproducers of failed attempts
    with pytest.raises(Exception, match="linalg_eigh"):
        compiled(lambda x: torch.linalg.eigvalsh(x) * 2)(x)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"targets": "cpu"}, "unknown option 'targets' of backend 'hipgraft': it has 'target'"),
        ({"target": 3}, "option 'target' has to be of type 'str', got 3"),
        ({"fallback": "never"}, "option 'fallback' has to be 'eager' or 'error', got 'never'"),
        ({"target": "gfx942"}, "target 'gfx942' cannot run tensors on 'cpu'"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(Exception, match=message):
        torch.compile(mlp(), backend="hipgraft", options=options)(torch.randn(3, 8))


def test_modes_are_refused():
    with pytest.raises(Exception, match="backend 'hipgraft' has no mode 'max-autotune'"):
        torch.compile(mlp(), backend="hipgraft", mode="max-autotune")(torch.randn(3, 8))


@pytest.mark.parametrize("where", ["split", "default_decompositions"])
def test_a_defect_is_a_fallback(monkeypatch, where):
    def fail(*_):
        raise ZeroDivisionError("for this test")

    if where == "split":
        monkeypatch.setattr("hipgraft.torch.backend.split", fail)
    else:
        rules = {torch.ops.aten.relu.default: fail}
        monkeypatch.setattr("hipgraft.torch.backend.default_decompositions", lambda: rules)
    with pytest.warns(HipgraftWarning, match="ZeroDivisionError: for this test"):
        ours = torch.compile(torch.relu, backend="hipgraft")(torch.tensor([-1.0, 1.0]))
    assert ours.tolist() == [0, 1]


def test_threads_share_a_model():
    model = mlp().eval()
    call = compiled(model)
    x = torch.randn(3, 8)
    with torch.no_grad():
        expected = model(x)
        call(x)
    wrong = []

    def run():
        with torch.no_grad():
            for _ in range(50):
                if not torch.allclose(call(x), expected, atol=1e-5):
                    wrong.append(1)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_exported_program():
    model = mlp().eval()
    x = torch.randn(3, 8)
    program = hipgraft.torch.compile(torch.export.export(model, (x,)), "cpu")
    (ours,) = program.run({"input": x})
    torch.testing.assert_close(torch.from_numpy(ours), model(x).detach(), rtol=1e-4, atol=1e-5)


def test_exported_program_of_quantized_layers():
    """Layers as PT2E quantization writes them: int8 weights with a scale per channel."""
    import torch.ao.quantization.fx._decomposed  # registers the ops

    ops = torch.ops.quantized_decomposed

    class Quantized(torch.nn.Module):
        def __init__(self):
            super().__init__()
            weights = torch.randint(-127, 128, (8, 3, 3, 3), dtype=torch.int8)
            self.register_buffer("weights", weights)
            self.register_buffer("scales", torch.rand(8) / 100)
            self.register_buffer("zeros", torch.zeros(8, dtype=torch.int64))

        def forward(self, x):
            weights = ops.dequantize_per_channel.default(
                self.weights, self.scales, self.zeros, 0, -127, 127, torch.int8
            )
            limits = (0.02, 128, 0, 255, torch.uint8)
            x = ops.quantize_per_tensor.default(x, *limits)
            x = ops.dequantize_per_tensor.default(x, *limits)
            return F.relu(F.conv2d(x, weights, padding=1))

    model, x = Quantized(), torch.randn(2, 3, 8, 8)
    (found,) = hipgraft.torch.compile(torch.export.export(model, (x,)), "cpu").run([x.numpy()])
    torch.testing.assert_close(torch.as_tensor(found), model(x), rtol=1e-4, atol=1e-5)


def test_exported_program_of_dynamic_shapes():
    model = Attention()
    shapes = ({0: torch.export.Dim("batch"), 1: torch.export.Dim("length")},)
    exported = torch.export.export(model, (torch.randn(2, 5, 16),), dynamic_shapes=shapes)
    program = hipgraft.compile(exported, "cpu")
    for shape in ((3, 4, 16), (2, 7, 16)):
        x = torch.randn(shape)
        ours = torch.from_numpy(program.run(x)[0])
        torch.testing.assert_close(ours, model(x).detach(), rtol=1e-4, atol=1e-5)


def test_exported_programs_that_cannot_be_compiled():
    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Dropout())
    with pytest.raises(HipgraftError, match="draws random numbers"):
        hipgraft.torch.compile(torch.export.export(model, (torch.randn(3, 8),)), "cpu")
    norm = torch.nn.BatchNorm1d(4)
    with pytest.raises(HipgraftError, match="writes 'running_mean', 'running_var'"):
        hipgraft.torch.compile(torch.export.export(norm, (torch.randn(3, 4),)), "cpu")
    with pytest.raises(TypeError, match=r"expected a torch.export.ExportedProgram, not 'Linear'"):
        hipgraft.torch.compile(torch.nn.Linear(2, 2))


def test_lists_of_tensors():
    """Optimizers and gradient clipping use such lists."""

    def step(a, b):
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm([a, b])))
        clipped = torch._foreach_mul([a, b], (1 / norm).clamp(max=1))
        sums = torch._foreach_add(clipped, [b, a], alpha=2)
        return torch.addcdiv(sums[0], sums[1], b.abs() + 1, value=-0.5), sums

    check(step, torch.randn(4, 5), torch.randn(4, 5))


def test_hipgraft_does_not_load_pytorch():
    code = "import hipgraft, sys; hipgraft.torch; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_nothing_is_printed_at_exit():
    code = (
        "import torch\n"
        "call = torch.compile(torch.nn.Linear(4, 4), backend='hipgraft')\n"
        "call(torch.ones(2, 4)).sum().backward()\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout + done.stderr == ""
