"""hipgraft-emulate: whole programs on the emulated HIP runtime."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from assembled import requires_assembler
from emulator import requires_emulator
from onnx import helper
from small_onnx import F32, save

pytestmark = requires_emulator

BIN = Path(sys.executable).parent
PRODUCT = """
func.func @product(%a: tensor<9x16xf32>, %b: tensor<16x24xf32>)
    -> (tensor<9x24xf32>, tensor<9xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<9x24xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<9x24xf32>) -> tensor<9x24xf32>
  %product = linalg.matmul ins(%a, %b : tensor<9x16xf32>, tensor<16x24xf32>)
      outs(%start : tensor<9x24xf32>) -> tensor<9x24xf32>
  %row = tensor.empty() : tensor<9xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%row : tensor<9xf32>) -> tensor<9xf32>
  %sums = linalg.reduce { arith.addf } ins(%product : tensor<9x24xf32>)
      outs(%zeros : tensor<9xf32>) dimensions = [1]
  return %product, %sums : tensor<9x24xf32>, tensor<9xf32>
}
"""


def run(*command: str | Path, cwd: Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TMPDIR": str(cwd)}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert not list(cwd.glob("hipgraft-emulate-*"))
    return done


def emulate(*command: str, cwd: Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    return run(BIN / "hipgraft-emulate", "--", *command, cwd=cwd, status=status)


def script(text: str, cwd: Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    head = "import ctypes\nhip = ctypes.CDLL('libamdhip64.so')\n"
    return emulate(sys.executable, "-c", head + text, cwd=cwd, status=status)


@pytest.fixture(scope="module")
def relu_of_product(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, inputs, and NumPy's results."""
    folder, draw = tmp_path_factory.mktemp("model"), np.random.default_rng(0)
    x, w = (draw.standard_normal(shape, np.float32) for shape in ((5, 16), (16, 24)))
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])]
    save(folder / "model.onnx", nodes, {"x": x, "w": w}, [("y", F32)])
    np.savez(folder / "in.npz", x=x, w=w)
    np.savez(folder / "out.npz", y=np.maximum(x @ w, 0))
    return folder


@pytest.mark.sampled(6)
@pytest.mark.parametrize("runtime", ["recorded", "interpreter", "jit"])
def test_hipgrafts_own_device(relu_of_product: Path, runtime: str):
    flags = ("--device=hip", f"--runtime={runtime}", "--input=@in.npz", "--expected=@out.npz")
    done = emulate(str(BIN / "hipgraft-run"), "model.onnx", *flags, cwd=relu_of_product)
    assert done.stdout.rstrip().endswith(" ok")


PLAY = """
import numpy as np
from hipgraft.native.player import PlayerBundle, PlayerDevice, PlayerExecutable
given, y = np.load("in.npz"), np.zeros((5, 24), np.float32)
with PlayerBundle("model.hgb") as bundle, PlayerDevice("hip:0") as device:
    program = bundle.find(device.architecture)
    addresses = [device.allocate(program.tensor(number).nbytes) for number in range(3)]
    workspace = device.allocate(max(program.workspace_size, 1))
    with PlayerExecutable(program, device, replay=True) as executable:
        for scale in range(4):  # launched, captured, replayed
            device.upload(addresses[0], scale * given["x"])
            device.upload(addresses[1], given["w"])
            executable.enqueue(addresses, workspace=workspace)
            device.synchronize()
            device.download(y.view(np.uint8), addresses[2])
            expected = np.maximum(scale * given["x"] @ given["w"], 0)
            np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)
"""


def test_libhipgraft(relu_of_product: Path):
    bundle = ("--target=gfx942", "-q", "--emit=bundle", "-o", "model.hgb")
    run(BIN / "hipgraft-compile", "model.onnx", *bundle, cwd=relu_of_product)
    emulate(sys.executable, "-c", PLAY, cwd=relu_of_product)


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program that IREE compiled, inputs, and NumPy's results."""
    folder, draw = tmp_path_factory.mktemp("product"), np.random.default_rng(0)
    a, b = (draw.standard_normal(shape, np.float32) for shape in ((9, 16), (16, 24)))
    c = a @ b
    for name, array in (("a", a), ("b", b), ("c", c), ("sums", c.sum(1)), ("wrong", c + 1)):
        np.save(folder / f"{name}.npy", array)
    (folder / "product.mlir").write_text(PRODUCT)
    target = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942")
    run(BIN / "iree-compile", "product.mlir", *target, "-o", "product.vmfb", cwd=folder)
    return folder


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "flags",
    [
        "--device=hip",
        "--device=hip --hip_use_streams=false",  # by graphs
        "--device=hip --hip_async_allocations=false",
        "--device=hip://0 --hip_async_caching=false",
    ],
)
def test_irees_own_driver(flags: str, product: Path):
    command = [str(BIN / "iree-run-module"), *flags.split(), "--module=product.vmfb"]
    command += ["--function=product", "--input=@a.npy", "--input=@b.npy"]
    right = ("--expected_output=@c.npy", "--expected_output=@sums.npy")
    assert "[SUCCESS]" in emulate(*command, *right, cwd=product).stdout
    wrong = ("--expected_output=@wrong.npy", right[1])
    assert "[FAILED]" in emulate(*command, *wrong, cwd=product, status=1).stdout


def test_what_is_missing_fails_with_its_name(tmp_path: Path):
    text = "assert hip.hipMalloc3D() == hip.hipMalloc3D() == 801"
    done = script(text, tmp_path, status=1)
    assert done.stderr == "error: the emulated libamdhip64 has no 'hipMalloc3D'\n"


def test_the_status_is_the_programs(tmp_path: Path):
    assert script("raise SystemExit(7)", tmp_path, status=7).stderr == ""
    killed = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"
    script(killed, tmp_path, status=143)
    absent = emulate("./absent", cwd=tmp_path, status=1)
    assert absent.stderr == "error: './absent' cannot be run: No such file or directory\n"


FAULT = """
import numpy as np
import hip_library as lib
hip = lib.Hip(hip)
function = hip.function(lib.double_code())
x, y = hip.upload(np.ones(256, np.float32)), hip.make("hipMalloc", {size})
{before}
hip.launch(function, x, y)
found = hip.status("hipDeviceSynchronize"), hip.status("hipMalloc", ctypes.byref(ctypes.c_void_p()))
assert found == (700, 700), found
"""


@pytest.mark.sampled(8)
@requires_assembler
@pytest.mark.parametrize(
    ("size", "before", "what"),
    [
        (1020, "", "store out of bounds"),
        (1024, "hip.call('hipFree', x)", "load out of bounds"),
        (1024, "x = np.zeros(256, np.float32).ctypes.data", "load out of bounds"),
        (
            1024,
            "hip.call('hipSetDevice', 1); x = hip.make('hipMalloc', 1024); "
            "hip.call('hipSetDevice', 0)",
            "load out of bounds",
        ),
    ],
    ids=["too small", "freed", "not registered", "another device"],
)
def test_a_fault_fails_all_later_calls(size: int, before: str, what: str, tmp_path: Path):
    text = FAULT.format(size=size, before=before)
    head = f"import ctypes, sys\nsys.path.append({str(Path(__file__).parent)!r})\n"
    head += "hip = ctypes.CDLL('libamdhip64.so')\n"
    tool = (BIN / "hipgraft-emulate", "--devices=2", "--")
    done = run(*tool, sys.executable, "-c", head + text, cwd=tmp_path, status=1)
    assert done.stderr.startswith(f"error: kernel 'f': {what}")


TIMES = """
import ctypes, sys
sys.path.append({tests!r})
import numpy as np
import hip_library as lib
from hipgraft.emulator import CodeObject, estimate
hip = lib.Hip(ctypes.CDLL("libamdhip64.so"))
code, groups = lib.double_code(), {groups}
x = np.zeros(64 * groups, np.float32)
function, memory = hip.function(code), [hip.upload(x), hip.upload(x)]
events = [hip.make("hipEventCreate") for _ in range(3)]
hip.call("hipEventRecord", events[0], None)
for launches, event in zip((1, 3), events[1:]):
    for _ in range(launches):
        hip.launch(function, *memory, grid=groups)
    hip.call("hipEventRecord", event, None)
hip.call("hipDeviceSynchronize")
expected = estimate(CodeObject(code), "f", (groups,), (64,), [x, x + 1]).microseconds
for launches, pair in zip((1, 3), (events[:2], events[1:])):
    told = ctypes.c_float()
    hip.call("hipEventElapsedTime", ctypes.byref(told), *pair)
    gap = 2  # between kernels
    assert abs(1e3 * told.value / launches - gap - expected) < 1e-3 * expected, (told, expected)
"""


@pytest.mark.sampled(6)
@requires_assembler
@pytest.mark.parametrize("groups", [1, 7, 4000])
def test_events_hold_the_time_of_the_model(groups: int, tmp_path: Path):
    text = TIMES.format(tests=str(Path(__file__).parent), groups=groups)
    tool = (BIN / "hipgraft-emulate", "--time=model", "--")
    assert run(*tool, sys.executable, "-c", text, cwd=tmp_path).stderr == ""


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--arch=sm_80", "error: unknown architecture 'sm_80'"),
        (
            "--arch=gfx90a --time=model",
            "error: times are estimated for gfx942, gfx950, gfx1100, not for gfx90a",
        ),
        ("--devices=17", "error: expected 1 to 16 devices, found 17"),
    ],
)
def test_wrong_flags(flag: str, message: str, tmp_path: Path):
    tool = (BIN / "hipgraft-emulate", *flag.split(), "--")
    done = run(*tool, "true", cwd=tmp_path, status=1)
    assert done.stderr.strip() == message


def test_the_library_alone_says_what_it_needs(tmp_path: Path):
    from hipgraft.emulator.hip_runtime import library_path

    text = f"""
import ctypes
hip = ctypes.CDLL({str(library_path())!r})
assert hip.hipInit(0) == 100
assert hip.hipMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(16)) == 100
"""
    done = run(sys.executable, "-c", text, cwd=tmp_path)
    assert "start the program by hipgraft-emulate" in done.stderr


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("architecture", "wave"), [("gfx90a", 64), ("gfx950", 64), ("gfx1100", 32), ("gfx1201", 32)]
)
def test_other_architectures(architecture: str, wave: int, tmp_path: Path):
    text = f"""
import ctypes
hip, value = ctypes.CDLL("libamdhip64.so.6"), ctypes.c_int()
assert hip.hipDeviceGetAttribute(ctypes.byref(value), 87, 0) == 0
assert value.value == {wave}
properties = ctypes.create_string_buffer(1472)
assert hip.hipGetDevicePropertiesR0600(properties, 0) == 0
assert properties.raw[1160:].startswith(b"{architecture}")
"""
    tool = (BIN / "hipgraft-emulate", f"--arch={architecture}", "--devices=2", "--")
    run(*tool, sys.executable, "-c", text, cwd=tmp_path)


def test_a_stream_may_outlive_the_librarys_last_user(tmp_path: Path):
    script(
        """
import _ctypes, time
stream = ctypes.c_void_p()
assert not hip.hipStreamCreate(ctypes.byref(stream))
slow = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: time.sleep(0.3))
assert not hip.hipLaunchHostFunc(stream, slow, None)
assert not hip.hipStreamDestroy(stream)
_ctypes.dlclose(hip._handle)
time.sleep(0.6)
""",
        tmp_path,
    )
