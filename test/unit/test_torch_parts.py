"""Graphs of `torch.compile(..., backend="hipgraft")` of which PyTorch runs some nodes."""

import copy
import gc
import warnings

import pytest

torch = pytest.importorskip("torch")

import hipgraft  # noqa: E402
import hipgraft.torch  # noqa: E402
from hipgraft.ir.diagnostics import HipgraftError, HipgraftWarning  # noqa: E402
from hipgraft.torch.kernels import COUNTS  # noqa: E402

F = torch.nn.functional


@torch.library.custom_op("hipgraft_test::double", mutates_args=("x",))
def double(x: torch.Tensor) -> None:
    x.mul_(2)


@torch.library.custom_op("hipgraft_test::sine", mutates_args=())
def sine(x: torch.Tensor) -> torch.Tensor:
    return x.sin()


@sine.register_fake
def _(x):
    return torch.empty_like(x)


def _save(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


sine.register_autograd(
    lambda ctx, gradient: gradient * ctx.saved_tensors[0].cos(), setup_context=_save
)


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()
    gc.collect()


@pytest.fixture
def data_dependent():
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        yield


def run(function, *inputs, parts, why=(), **options):
    """Compares a compiled function with PyTorch, counts programs and warnings, and returns it."""
    before = COUNTS.compiled
    call = torch.compile(function, backend="hipgraft", fullgraph=True, **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.manual_seed(3)
        ours = call(*inputs)
    torch.manual_seed(3)
    torch.testing.assert_close(ours, function(*inputs), rtol=1e-4, atol=1e-5)
    told = [str(one.message) for one in caught if one.category is HipgraftWarning]
    assert len(told) == bool(why), told
    assert all(one in told[0] for one in why), told
    assert COUNTS.compiled - before == parts
    return call


def line_of(function, offset):
    return f"{__file__}:{function.__code__.co_firstlineno + offset}:"


def test_a_graph_that_compiles_is_one_program(monkeypatch):
    def fail(*_):
        raise AssertionError("tried parts")

    monkeypatch.setattr("hipgraft.torch.backend.compile_parts", fail)
    run(lambda x: (x.exp() + 1).t() * 3, torch.randn(4, 8), parts=1)


def test_an_unknown_op_in_the_middle():
    def function(x):
        y = (x * 2).exp() + 1
        y = sine(y)
        return (y * 3).exp()

    why = (line_of(function, 2), "runs nodes that", "'hipgraft_test.sine.default'", "not supported")
    run(function, torch.randn(4, 8), parts=2, why=why)


def test_two_unknown_ops_and_one_of_two_results():
    def function(x):
        y = sine((x * 2).exp() + 1)
        z = torch.mode(y * 2 + x, 0)[0]
        return (z * 3).exp() + x, y.t()

    why = ("'hipgraft_test.sine.default'", "'aten.mode.default'", f"({line_of(function, 2)}")
    run(function, torch.randn(4, 8), parts=3, why=why)


def test_the_warning_tells_a_reason_once():
    def function(x):
        return (sine(sine(x * 2 + 1) * 2 + 1) * 2 + 1).exp()

    run(function, torch.randn(4, 8), parts=3, why=("not supported in this form (2 nodes)",))


def test_parts_that_would_compute_little_stay_in_pytorch():
    why = ("PyTorch runs a graph that hipgraft does not",)
    run(lambda x: sine(x.t().reshape(4, 8)) + 1, torch.randn(4, 8), parts=0, why=why)
    run(lambda x: (sine(x.t()) + 1).exp(), torch.randn(4, 8), parts=1, why=("runs nodes",))


def test_unknown_ops_are_errors_on_request():
    call = torch.compile(
        lambda x: sine((x * 2).exp() + 1), backend="hipgraft", options={"fallback": "error"}
    )
    before = COUNTS.compiled
    with pytest.raises(Exception, match=r"hipgraft_test\.sine"):
        call(torch.randn(4, 8))
    assert COUNTS.compiled == before


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    "select",
    [
        lambda x: torch.masked_select(x, x > 1),
        lambda x: torch.unique(x),
        lambda x: torch.nonzero(x > 1)[:, 0],
    ],
    ids=["masked_select", "unique", "nonzero"],
)
def test_shapes_that_depend_on_values(select, dynamic, data_dependent):
    def function(x):
        return (select((x * 2).exp() + 0.5) * 3 + 1) * 2.0

    why = ("'aten.", "the shape of the result depends on values")
    call = run(function, torch.randn(4, 8), parts=2, why=why, dynamic=dynamic)
    for x in (torch.randn(5, 8), torch.ones(4, 8), torch.full((4, 8), -9.0)):
        torch.testing.assert_close(call(x), function(x))


@pytest.mark.parametrize("dynamic", ["program", "specialize"])
def test_dynamic_extents(dynamic):
    def function(x, y):
        y = sine((y * 2).exp() + 1)
        y = (y.expand(x.shape[0], 8) * 3).exp() + x.shape[0]  # whose extent no operand has
        return y, sine(torch.arange(x.shape[0] * 2).float().exp() * 3), x.shape[0] + 1

    x, y = torch.randn(4, 8), torch.randn(1, 8)
    options = {"dynamic": True, "options": {"dynamic": dynamic}}
    call = run(function, x, y, parts=2, why=("'hipgraft_test.sine.default'",), **options)
    before = COUNTS.compiled
    for extent in (5, 3, 5):
        x = torch.randn(extent, 8)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if dynamic == "specialize" else "error", HipgraftWarning)
            torch.testing.assert_close(call(x, y), function(x, y), rtol=1e-4, atol=1e-4)
    assert COUNTS.compiled - before == (0 if dynamic == "program" else 4)


def test_mutation_and_aliasing():
    def function(x, y):
        x.add_(1)
        y[:, 0] = sine((x * 2).exp()).sum(1) * 2
        view = x.view(-1)
        return view, y.t(), sine(x * 2 + 1)[1:]

    ours, theirs = [[torch.ones(3, 4), torch.zeros(3, 4)] for _ in range(2)]
    with pytest.warns(HipgraftWarning, match="runs nodes"):
        results = torch.compile(function, backend="hipgraft")(*ours)
    torch.testing.assert_close(results, function(*theirs))
    torch.testing.assert_close(ours, theirs)
    results[0].zero_()
    assert ours[0].count_nonzero() == 0


def test_an_op_that_writes_its_operand():
    def function(x, y):
        z = (x * 2).exp() + 1
        double(z)
        double(y)
        return (z * 3).exp() + y

    ours, theirs = [[torch.ones(3, 4), torch.ones(3, 4)] for _ in range(2)]
    with pytest.warns(HipgraftWarning, match="auto_functionalized.*no ATen op"):
        result = torch.compile(function, backend="hipgraft", fullgraph=True)(*ours)
    torch.testing.assert_close(result, function(*theirs))
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_scalar_that_depends_on_values(dynamic):
    def function(x):
        y = (x * 2).exp() + 1
        extent = y.flatten().argmax().item()
        torch._check(extent >= 0)
        return torch.full((extent,), 3.0).exp() * 2 + y[0, 0] * 3, (y * 3).log()

    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        why = ("'aten._local_scalar_dense.default': the value of the result depends on values",)
        run(function, torch.randn(4, 8), parts=2, why=why, dynamic=dynamic)


def test_random_numbers_are_drawn_in_order():
    def function(x):
        y = F.dropout((x * 2).exp() + 1, 0.5)
        z = torch.bernoulli(torch.sigmoid(y * 2 + 1))
        y = sine(y + torch.rand(4, 8))
        return (F.dropout(y * 2, 0.3) + z).exp(), torch.rand(3) * 2 + 1

    run(function, torch.randn(4, 8), parts=2, why=("'hipgraft_test.sine.default'",))


class _Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.norm = torch.nn.BatchNorm1d(16)
        self.rows = torch.nn.LayerNorm(16)  # an op of three results, all of which are used
        self.last = torch.nn.Linear(16, 4)

    def forward(self, x):
        x = F.dropout(F.gelu(self.norm(self.first(x))), 0.3)
        return self.last(self.rows(sine(self.rows(x) * 2))).softmax(-1)


def test_training_step():
    ours = _Net()
    theirs = copy.deepcopy(ours)
    before = COUNTS.compiled
    call = torch.compile(ours, backend="hipgraft")
    results = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for module, step in ((ours, call), (theirs, theirs)):
            torch.manual_seed(1)
            x = torch.linspace(-1, 1, 48).reshape(6, 8).requires_grad_()
            result = step(x)
            result.square().sum().backward()
            gradients = [x.grad, *(one.grad for one in module.parameters())]
            results.append((result.detach(), gradients, list(module.buffers())))
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)
    told = [str(one.message) for one in caught if one.category is HipgraftWarning]
    assert len(told) == 1
    assert "'hipgraft_test.sine.default'" in told[0]
    assert COUNTS.compiled - before == 3  # two of the forward graph; the backward one has no sine


@pytest.mark.parametrize("told", ["erf:1:0", ""], ids=["located", "by bisection"])
def test_an_op_that_imports_but_does_not_compile(monkeypatch, told):
    real = hipgraft.compile
    tries = []

    def compile(module, *args, compile_to="", **options):
        if not compile_to:
            tries.append(module)
            if "torch.aten.erf " in str(module):
                raise HipgraftError("no kernel for this test", location=told)
        return real(module, *args, compile_to=compile_to, **options)

    monkeypatch.setattr("hipgraft.torch.kernels.hipgraft.compile", compile)

    def function(x):
        y = (x * 2).exp() + 1
        return (torch.erf(y) * 3).exp() - 1

    why = (line_of(function, 2), "'aten.erf.default': no kernel for this test")
    run(function, torch.randn(4, 8), parts=2, why=why)
    assert len(tries) <= (6 if told else 16)


def test_a_branch_in_the_middle():
    def function(x):
        y = (x * 2).exp() + 1
        y = torch.cond(y.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (y,))
        return (y * 3).exp() + 1

    run(function, torch.randn(4, 8), parts=2, why=("'cond': it is no ATen op",))


def test_random_numbers_of_branches_are_drawn_in_order():
    def function(x):
        y = (x * 2).exp() + 1
        y = torch.cond(y.sum() > 0, lambda y: y + torch.rand(4, 8), lambda y: y.cos(), (y,))
        z = torch.rand(4, 8)
        w = sine(x * 5 + 1)  # its operand is of the same part as that of the branches
        return (y * 3).exp() + w, z

    run(function, torch.randn(4, 8), parts=2, why=("'cond': it is no ATen op",))
