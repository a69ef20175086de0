"""libhipgraft with bundles that Python wrote: on built drivers, in host memory, emulated."""

from __future__ import annotations

import ctypes
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator import missing_reason
from recordings import ARCHITECTURE, WEIGHTS, copying_program
from test_driver_devices import COUNT, FakeDriver, X, build_driver, program
from test_hostile_bundle import header_of, with_header

from fuzz.mutations import changed_document
from hipgraft import native
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.native import player
from hipgraft.native.player import (
    HostKernels,
    PlayerBundle,
    PlayerDevice,
    PlayerError,
    PlayerExecutable,
)
from hipgraft.runtime import bundle_sections
from hipgraft.runtime.bundle import load, write_bundle
from hipgraft.runtime.recording import Fill, Pointer, Recording, Tensor

needs_compiler = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    path = tmp_path / "copies.hgb"
    write_bundle(path, [copying_program()], {"answer": [42, "é", 1.5]})
    return path


def run(device: PlayerDevice, executable: PlayerExecutable, source: Any, *inputs: Any) -> list[Any]:
    """Runs a program once, in its own memory."""
    tensors = [source.tensor(i) for i in range(source.input_count + source.result_count)]
    addresses = [device.allocate(tensor.nbytes) for tensor in tensors]
    workspace = device.allocate(source.workspace_size)
    for address, array in zip(addresses, inputs, strict=False):
        device.upload(address, np.ascontiguousarray(array))
    executable.enqueue(addresses, workspace=workspace)
    device.synchronize()
    found: list[Any] = []
    for address, tensor in zip(addresses, tensors, strict=True):
        found.append(np.zeros(tensor.nbytes, np.uint8))
        device.download(found[-1], address)
    for address in (*addresses, workspace):
        device.free(address)
    return found[source.input_count :]


def test_describes_a_bundle(copies: Path) -> None:
    with PlayerBundle(copies) as bundle:
        assert bundle.metadata == r'{"answer":[42,"\u00e9",1.5]}'
        assert [one.architecture for one in bundle.programs()] == [ARCHITECTURE]
        found = bundle.find(ARCHITECTURE)
        assert (found.variant_count, found.input_count, found.result_count) == (1, 1, 3)
        assert found.workspace_size == 256  # 64 bytes, at a multiple of 256
        x = found.tensor(0)
        assert (x.name, x.element_type, x.shape) == ("x", "f32", (2, 3))
        assert (x.strides, x.offset, x.nbytes) == ((3, 1), 0, 24)
        for call in (lambda: found.tensor(4), lambda: found.variant_name(1)):
            with pytest.raises(PlayerError, match="there is no"):
                call()
        with pytest.raises(PlayerError, match="no program for 'gfx90a'; it is for gfx942") as error:
            bundle.find("gfx90a")
        assert error.value.status == "NOT_APPLICABLE"


def test_runs_in_host_memory(copies: Path) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    with PlayerBundle(copies) as bundle, PlayerDevice(ARCHITECTURE) as device:
        found = bundle.find(ARCHITECTURE)
        with PlayerExecutable(found, device) as executable:
            y, weights, eights = run(device, executable, found, x)
    np.testing.assert_array_equal(y.view(np.float32), x.ravel())
    np.testing.assert_array_equal(weights.view(np.float16), WEIGHTS)
    np.testing.assert_array_equal(eights, np.full(5, 8))


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_fills_of_each_width(tmp_path: Path, width: int) -> None:
    pattern = bytes(range(1, width + 1))
    fill = Fill(Pointer(0, 0), pattern, 11 * width)
    result = Tensor("", (11 * width,), "i8")
    path = tmp_path / "fill.hgb"
    write_bundle(path, [Recording(ARCHITECTURE, (), (result,), (), (), (), (fill,))])
    with PlayerBundle(path) as bundle, PlayerDevice(ARCHITECTURE) as device:
        found = bundle.find(ARCHITECTURE)
        with PlayerExecutable(found, device) as executable:
            (filled,) = run(device, executable, found)
    assert filled.tobytes() == 11 * pattern


def test_wrong_arguments_are_told(copies: Path) -> None:
    with PlayerBundle(copies) as bundle, PlayerDevice(ARCHITECTURE) as device:
        found = bundle.find(ARCHITECTURE)
        with PlayerExecutable(found, device) as executable:
            memory = [device.allocate(64) for _ in range(5)]
            *good, workspace = memory
            wrong: list[tuple[list[int], dict[str, int], str]] = [
                (good[:-1], {}, "has 4 inputs and results, but 3 were given"),
                (good, {"workspace": 0}, "needs a workspace of 256 bytes"),
                (good, {"variant": 1}, "no variant 1 of 1"),
                ([0, *good[1:]], {}, "the pointer of input #0 is null"),
                ([*good[:-1], 0], {}, "the pointer of result #2 is null"),
                ([good[0] + 4, *good[1:]], {}, "input #0 is at 0x.*, which is no multiple of 16"),
                (good, {"workspace": workspace + 8}, "the workspace is at"),
            ]
            for addresses, options, text in wrong:
                given = {"workspace": workspace, **options}
                with pytest.raises(PlayerError, match=text) as error:
                    executable.enqueue(addresses, **given)
                assert error.value.status == "INVALID_ARGUMENT"
            for address in memory:
                device.free(address)
    loaded = native.library()
    assert loaded.hipgraft_bundle_open(None, 0, None) == 1
    assert loaded.hipgraft_enqueue(None, 0, None, None, 0, None) == 1
    for name in ("bundle_close", "device_close", "executable_destroy"):
        getattr(loaded, f"hipgraft_{name}")(None)
    with pytest.raises(PlayerError, match="expected a device as 'hip:0'"):
        PlayerDevice("vulkan:0")
    with pytest.raises(PlayerError, match=r"cannot open bundle: No such file"):
        PlayerBundle("absent.hgb")


def test_programs_for_others_are_not_applicable(copies: Path, tmp_path: Path) -> None:
    with (
        PlayerBundle(copies) as bundle,
        PlayerDevice("gfx1100") as device,
        pytest.raises(PlayerError, match="is for 'gfx942', but the device is 'gfx1100'"),
    ):
        PlayerExecutable(bundle.find(ARCHITECTURE), device)
    path = tmp_path / "ptx.hgb"
    write_bundle(path, [copying_program("sm_80"), copying_program("sm_90")])
    with PlayerBundle(path) as bundle:
        for device, program in {"sm_86": "sm_80", "sm_90": "sm_90", "sm_120": "sm_90"}.items():
            assert bundle.find(device).architecture == program
        with pytest.raises(PlayerError, match="no program for 'sm_75'"):
            bundle.find("sm_75")
        with PlayerDevice("sm_86") as device:
            PlayerExecutable(bundle.find("sm_86"), device).close()
            with pytest.raises(PlayerError, match="is for 'sm_90'"):
                PlayerExecutable(bundle.find("sm_90"), device)


def test_variants_are_chosen_by_shapes(tmp_path: Path) -> None:
    def variant(rows: int) -> Recording:
        tensor = Tensor("x", (rows, 2), "f32")
        return Recording(ARCHITECTURE, (tensor,), (), (), (), (), (), f"rows={rows}")

    path = tmp_path / "variants.hgb"
    write_bundle(path, [variant(1), variant(8)])
    with PlayerBundle(path) as bundle:
        found = bundle.find(ARCHITECTURE)
        assert found.select([(8, 2)]) == 1
        assert found.variant_name(1) == "rows=8"
        assert found.tensor(0, variant=1).shape == (8, 2)
        with pytest.raises(PlayerError, match=r"no variant .* rows=1; rows=8") as error:
            found.select([(3, 2)])
        assert error.value.status == "NOT_APPLICABLE"
        with pytest.raises(PlayerError, match="has 1 inputs, but 2 were given"):
            found.select([(8, 2), (1,)])


def test_code_of_others_needs_trust(
    copies: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIPGRAFT_CACHE_DIR", str(tmp_path / "other"))
    with PlayerDevice(ARCHITECTURE) as device:
        with PlayerBundle(copies) as bundle:  # looking into it is harmless
            with pytest.raises(PlayerError, match="was not written by hipgraft for you") as error:
                PlayerExecutable(bundle.find(ARCHITECTURE), device)
            assert error.value.status == "UNTRUSTED"
        with PlayerBundle(copies, trust=True) as bundle:
            PlayerExecutable(bundle.find(ARCHITECTURE), device).close()


def meaningful(data: bytes) -> set[int]:
    """The places of a bundle's bytes that are not padding."""
    header, length = header_of(data), struct.unpack_from("<Q", data, 16)[0]
    start = bundle_sections.aligned(24 + length)
    extents = [(0, 24 + length), (start + header["data_size"], len(data))]
    extents += [(start + offset, start + offset + size) for offset, size in header["sections"]]
    return {at for first, last in extents for at in range(first, last)}


def test_each_damaged_byte_is_told(copies: Path) -> None:
    """Damage in the header, in a section or in a checksum never passes; padding may change."""
    data = copies.read_bytes()
    damaged = sorted(meaningful(data))
    draw = random.Random(3)
    told: set[str] = set()
    for _ in range(300):
        at = draw.choice(damaged) if draw.random() < 0.8 else draw.randrange(len(data))
        changed = bytearray(data)
        changed[at] ^= 1 << draw.randrange(8)
        try:
            with PlayerBundle(bytes(changed), trust=True) as bundle:
                program = bundle.find(ARCHITECTURE)
                with PlayerDevice(ARCHITECTURE) as device:
                    PlayerExecutable(program, device).close()
            assert at not in damaged, at
        except PlayerError as error:
            told.add(error.status)
    assert told == {"DAMAGED"}
    for length in range(0, len(data), 97):
        with pytest.raises(PlayerError):
            PlayerBundle(data[:length])


def sized(header: Any) -> Any:
    """Gives tensors the sizes of their layouts: only Python knows how these round up."""
    with suppress(Exception):
        for variant in (one for each in header["programs"] for one in each["variants"]):
            for fields in (*variant["inputs"], *variant["results"]):
                with suppress(Exception):
                    fields[5] = Tensor(*fields[:5]).nbytes
    return header


@pytest.mark.parametrize("seed", range(4))
def test_accepts_the_headers_that_python_accepts(copies: Path, tmp_path: Path, seed: int) -> None:
    """Two readers that share no code agree on changed headers with right checksums."""
    data, draw = copies.read_bytes(), random.Random(seed)
    path = tmp_path / "changed.hgb"
    accepted = 0
    for _ in range(150):
        why = ""
        changed = with_header(data, sized(changed_document(header_of(data), draw)))
        path.write_bytes(changed)
        try:
            with load(path, trust=True) as bundle:
                for name in bundle.architectures:
                    bundle.recordings(name)
            expected = True
        except HipgraftError as error:
            why = str(error)
            expected = False
        try:
            PlayerBundle(path).close()
            found = True
        except PlayerError as error:
            why, found = str(error), error.status != "DAMAGED"
        accepted += found
        assert found == expected, why
    assert accepted


@pytest.fixture(params=["cuda", "hip"], scope="module")
def driver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> FakeDriver:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp(f"player_{request.param}")
    return build_driver(request.param, folder, "-DFAKE_DEFAULT_STREAM")


@pytest.fixture
def doubled(driver: FakeDriver, tmp_path: Path) -> Generator[tuple[PlayerDevice, PlayerBundle]]:
    driver.fail("", 0)
    path = tmp_path / "doubled.hgb"
    write_bundle(path, [program(driver.kind)])
    with PlayerDevice(f"{driver.kind}:0", driver.path) as device, PlayerBundle(path) as bundle:
        yield device, bundle


@pytest.mark.parametrize("replay", [False, True])
def test_runs_on_a_driver(
    driver: FakeDriver, doubled: tuple[PlayerDevice, PlayerBundle], replay: bool
) -> None:
    device, bundle = doubled
    found = bundle.find(device.architecture)
    before = driver.live
    with PlayerExecutable(found, device, replay=replay) as executable:
        x, y, z, workspace = (device.allocate(256) for _ in range(4))
        for scale in range(4):  # launched, captured, replayed
            device.upload(x, scale * X)
            executable.enqueue([x, y, z], workspace=workspace)
            device.synchronize()
            results = np.zeros((2, COUNT), np.float32)
            device.download(results[0], y)
            device.download(results[1], z)
            np.testing.assert_array_equal(results, [4 * scale * X, 2 * np.arange(COUNT)])
        for address in (x, y, z, workspace):
            device.free(address)
    assert driver.live == before


def test_constants_are_shared_and_freed_in_any_order(
    driver: FakeDriver, doubled: tuple[PlayerDevice, PlayerBundle], tmp_path: Path
) -> None:
    device, bundle = doubled
    before = driver.live
    found = bundle.find(device.architecture)
    first = PlayerExecutable(found, device)
    held = driver.live
    second = PlayerExecutable(found, device)
    assert driver.live == held > before
    first.close()
    bundle.close()
    device.close()
    assert driver.live == held  # the second one still needs them
    second.close()
    assert driver.live < held


@pytest.mark.parametrize("name", ["malloc", "load", "get_kernel", "to_device", "wait"])
def test_failures_of_a_driver_lose_nothing(
    driver: FakeDriver, doubled: tuple[PlayerDevice, PlayerBundle], name: str
) -> None:
    device, bundle = doubled
    found = bundle.find(device.architecture)
    before = driver.live
    driver.fail(name, 1)
    with pytest.raises(PlayerError, match=r"failed.*: invalid argument") as error:
        PlayerExecutable(found, device)
    assert error.value.status == "DRIVER_ERROR"
    assert driver.live == before
    PlayerExecutable(found, device).close()


@pytest.mark.parametrize("name", ["launch", "begin_capture", "instantiate", "launch_graph"])
def test_failures_of_runs_lose_nothing(
    driver: FakeDriver, doubled: tuple[PlayerDevice, PlayerBundle], name: str
) -> None:
    device, bundle = doubled
    found = bundle.find(device.architecture)
    x, y, z, workspace = (device.allocate(256) for _ in range(4))
    device.upload(x, X)
    before = driver.live
    with PlayerExecutable(found, device, replay=True) as executable:
        driver.fail(name, 2 if name == "launch" else 1)
        failures: list[str] = []
        for _ in range(4):
            try:
                executable.enqueue([x, y, z], workspace=workspace)
            except PlayerError as error:
                failures.append(str(error))
        assert len(failures) == 1
        assert "failed: invalid argument" in failures[0]
    assert driver.live == before
    for address in (x, y, z, workspace):
        device.free(address)


def test_drivers_that_are_not_there(tmp_path: Path) -> None:
    for kind in ("cuda", "hip"):
        with pytest.raises(PlayerError, match=f"no {kind} driver: ") as error:
            PlayerDevice(f"{kind}:0", str(tmp_path / "absent.so"))
        assert error.value.status == "IO_ERROR"


def test_devices_that_are_not_there(driver: FakeDriver) -> None:
    for number in ("2", "99999", "-1", "", "1x"):
        with pytest.raises(PlayerError, match=r"device|expected"):
            PlayerDevice(f"{driver.kind}:{number}", driver.path)


def test_threads_share_an_executable(copies: Path) -> None:
    wrong: list[Any] = []

    def many(seed: int) -> None:
        x = np.full((2, 3), seed, np.float32)
        for _ in range(200):
            y, *_ = run(device, executable, found, x)
            if not (y.view(np.float32) == seed).all():
                wrong.append(seed)

    with PlayerBundle(copies) as bundle, PlayerDevice(ARCHITECTURE) as device:
        found = bundle.find(ARCHITECTURE)
        with PlayerExecutable(found, device) as executable:
            threads = [threading.Thread(target=many, args=(seed,)) for seed in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    assert not wrong


@pytest.mark.skipif(missing_reason() is not None, reason=str(missing_reason()))
@pytest.mark.slow
def test_runs_compiled_kernels(tmp_path: Path) -> None:
    """A compiled convolution on the emulator, against NumPy."""
    from hipgraft.emulator.device import EmulatorDevice
    from hipgraft.tools import hipgraft_compile

    model = Path(__file__).resolve().parents[1] / "lit" / "tools" / "Inputs" / "conv_relu.mlir"
    path = tmp_path / "x.hgb"
    command = [str(model), "--target=gfx942", "--emit=bundle", f"-o{path}", "-q"]
    assert hipgraft_compile.main(command) == 0
    emulator = EmulatorDevice()
    kept: list[Any] = []

    def load_module(_: Any, data: int, size: int, module: Any) -> int:
        kept.append(emulator.load_code_object(ctypes.string_at(data, size)))
        module[0] = len(kept)
        return 0

    def get_kernel(_: Any, module: int, name: bytes, kernel: Any) -> int:
        kept.append(emulator.get_kernel(kept[module - 1], name.decode()))
        kernel[0] = len(kept)
        return 0

    def launch(
        _: Any, kernel: int, grid: Any, block: Any, shared: int, data: int, size: int
    ) -> int:
        arguments = ctypes.string_at(data, size)
        emulator.launch(kept[kernel - 1], grid[:3], block[:3], shared, arguments)
        return 0

    functions = HostKernels(
        None,
        player.LOAD(load_module),
        player.UNLOAD(lambda *_: None),
        player.GET_KERNEL(get_kernel),
        player.LAUNCH(launch),
    )
    draw = np.random.default_rng(0)
    with PlayerBundle(path) as bundle, PlayerDevice("gfx942", kernels=functions) as device:
        found = bundle.find("gfx942")
        with PlayerExecutable(found, device) as executable, load(path) as program:
            sizes = [found.tensor(i).nbytes for i in range(found.input_count + found.result_count)]
            addresses = [aligned(size) for size in (*sizes, found.workspace_size)]
            inputs = [
                draw.standard_normal(found.tensor(i).shape).astype(np.float16)
                for i in range(found.input_count)
            ]
            for memory, array in zip(addresses, inputs, strict=False):
                memory[: array.nbytes] = array.view(np.uint8).ravel()
            pointers = [emulator.register(memory) for memory in addresses]
            executable.enqueue(
                pointers[:-1], workspace=pointers[-1] if found.workspace_size else None
            )
            (expected,) = program.run(inputs, device=EmulatorDevice())
    result = addresses[found.input_count][: expected.nbytes].view(np.float16)
    np.testing.assert_array_equal(result.reshape(expected.shape), expected)
    assert np.abs(expected).max() > 0


def aligned(size: int) -> Any:
    raw = np.zeros(size + 256, np.uint8)
    start = -raw.ctypes.data % 256
    return raw[start : start + size]


@pytest.mark.slow
@needs_compiler
def test_the_page_s_program(driver: FakeDriver, tmp_path: Path) -> None:
    """The page's C99 program builds without warnings, and runs on a driver of host memory."""
    if driver.kind != "hip":
        pytest.skip("the program opens hip:0")
    config = Path(sys.executable).with_name("hipgraft-config")
    library, include = (
        subprocess.run([config, flag], capture_output=True, text=True, check=True).stdout.strip()
        for flag in ("--library", "--include")
    )
    page = (Path(__file__).resolve().parents[2] / "docs" / "native.md").read_text()
    (text,) = re.findall("```c\n(.*?)```", page, re.DOTALL)
    source, binary, path = (tmp_path / name for name in ("main.c", "main", "double.hgb"))
    source.write_text(text)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{include}"]
    subprocess.run(["cc", *flags, source, library, "-o", binary], check=True)
    recording = program("hip")
    only = replace(recording, results=recording.results[:1], commands=())
    write_bundle(path, [only])
    environment = {**os.environ, "HIPGRAFT_LIBAMDHIP64": driver.path}
    for given, status, said in [(path, 0, ""), (tmp_path / "absent", 1, "cannot open bundle")]:
        done = subprocess.run([binary, given], capture_output=True, text=True, env=environment)
        assert (done.returncode, said in done.stderr) == (status, True), done.stderr
