"""hipDNN's templates expand to the graphs of their cases; errors name the defect of broken ones."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hipdnn_graphs import GRAPHS, graph, node, pointwise, scalar, templated, tensor, uids

from fuzz.mutations import changed_document
from hipgraft import hipdnn_io
from hipgraft.compiler.program import compile
from hipgraft.hipdnn_io.files import case_names, read_file
from hipgraft.ir.bindings import make_context
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.tools import hipgraft_compile, hipgraft_opt, hipgraft_translate

Json = Any

BATCHNORM_GRADIENT = (
    Path(__file__).resolve().parents[1] / "lit" / "tools" / "Inputs" / "batchnorm_gradient"
)
"""A template as hipDNN publishes it, in ROCm/rocm-libraries; its cases are our own."""


def write(folder: Path, template: Json, sweep: Json | None) -> Path:
    (folder / "graph.template.json").write_text(json.dumps(template))
    if sweep is not None:
        (folder / "sweep.json").write_text(json.dumps(sweep))
    return folder


@pytest.mark.parametrize("name", GRAPHS)
def test_case_gives_the_graph_back(name: str, tmp_path: Path):
    template, sweep = templated(GRAPHS[name])
    (case,) = hipdnn_io.sweep_cases(sweep, "sweep.json").values()
    assert hipdnn_io.expand_template(template, case, "graph.template.json") == GRAPHS[name]
    write(tmp_path, template, sweep)
    # The only case need not be named.
    for path, chosen in ((tmp_path, "only"), (tmp_path / "graph.template.json", None)):
        document = read_file(path, chosen)
        known = hipdnn_io.read_json(json.dumps(GRAPHS[name]))
        assert (document.nodes, document.tensors) == (known.nodes, known.tensors)
        assert not document.warnings


def gradient(x: np.ndarray, dy: np.ndarray, scale: np.ndarray, bias: np.ndarray, clips: Json):
    """The gradients of a training batchnorm below a ReLU: statistics, then dbias, dscale, dx."""
    axes = (0, 2, 3)
    mean, deviation = (f(x, axis=axes, keepdims=True) for f in (np.mean, np.std))
    normal = (x - mean) / deviation
    y = normal * scale + bias
    low, high = clips["relu_lower_clip"], clips["relu_upper_clip"]
    passed = dy * (y > (low or 0)) * (y <= (np.inf if high is None else high))
    dbias, dscale = (np.sum(one, axes, keepdims=True) for one in (passed, passed * normal))
    count = x.size / x.shape[1]
    dx = scale / deviation * (passed - dbias / count - normal * dscale / count)
    return mean, 1 / deviation, dbias, dscale, dx


@pytest.mark.sampled(4)
@pytest.mark.parametrize("at", range(2))
def test_published_template_computes_its_gradients(at: int):
    names = case_names(BATCHNORM_GRADIENT)
    sweep = json.loads((BATCHNORM_GRADIENT / "sweep.json").read_text())
    clips = sweep["cases"][at]["values"]["attributes"]
    is_half = "fp16" in names[at]
    random_ = np.random.default_rng(3)
    narrow = np.float16 if is_half else np.float32
    x, dy = (random_.normal(size=(2, 3, 4, 5)).astype(narrow) for _ in range(2))
    scale, bias = (random_.normal(size=(1, 3, 1, 1)).astype(np.float32) for _ in range(2))
    mean, inverse, *expected = gradient(
        *(one.astype(np.float64) for one in (x, dy, scale, bias)), clips
    )
    statistics = [one.astype(np.float32) for one in (inverse, mean)]
    program = compile(BATCHNORM_GRADIENT, "cpu", sweep_case=names[at])
    found = program.run([bias, *statistics, scale, x, dy])
    for result, exact in zip(found, expected, strict=True):
        tolerance = 2e-3 if is_half else 1e-4
        np.testing.assert_allclose(result, exact, rtol=tolerance, atol=tolerance)


def relu(**fields: Json) -> Json:
    return graph([pointwise("relu_fwd", 0, out=1)], [tensor(0, [2]), tensor(1, [2])], **fields)


def test_patches_change_tensors_after_the_values(tmp_path: Path):
    source = graph(
        [pointwise("add", 1, 2, out=3)], [tensor(1, [4]), scalar(2, 2.5), tensor(3, [4])]
    )
    template, sweep = templated(source)
    given = {"is_runtime_pass_by_value": True, "dims": [1]}
    patch = {"uid": 2, "set": given, "remove": ["value", "value_type", "nothing"]}
    sweep["cases"][0]["tensor_patches"] = [patch]
    document = read_file(write(tmp_path, template, sweep))
    runtime = next(one for one in document.tensors if one.uid == 2)
    assert (runtime.value, runtime.value_type) == (None, "")
    assert runtime.is_runtime_pass_by_value


def test_values_that_nothing_uses_are_told(tmp_path: Path):
    template, sweep = templated(relu())
    values = sweep["cases"][0]["values"]
    values["speed"] = 3
    values["tensors"][1]["color"] = "red"
    values["tensors"].append({"uid": 9, "dims": [1]})
    assert read_file(write(tmp_path, template, sweep)).warnings == [
        "case 'only': no placeholder uses the value 'speed'",
        "case 'only': no placeholder uses the value 'color' of the tensor with uid 1",
        "case 'only': no placeholder uses the value 'dims' of the tensor with uid 9",
    ]


def put(*way: Any) -> Callable[[Json], None]:
    """Returns a change of a sweep: puts the last argument where the others lead; `...` removes."""
    *steps, last, value = way

    def change(document: Json) -> None:
        for step in steps:
            document = document[step]
        if value is ...:
            del document[last]
        else:
            document[last] = value

    return change


VALUES = ("cases", 0, "values")
BROKEN = [
    (put("cases", []), "sweep.json: error: sweep: has no cases"),
    (put("cases", ...), "sweep.json: error: sweep: requires field 'cases'"),
    (put("version", 2), "sweep.json: error: sweep: expected version 1, but found 2"),
    (put("cases", 0, "id", ""), "sweep.json: error: cases[0]: expected field 'id' to be a name"),
    (
        put(*VALUES, "tensors", 1, "uid", 0),
        "sweep.json: error: cases[0]: has values of the tensor with uid 0 twice",
    ),
    (
        put(*VALUES, "io_data_type", ...),
        "graph.template.json: error: io_data_type: case 'only' has no value for "
        "'${case.io_data_type}'",
    ),
    (
        put(*VALUES, "tensors", 1, "dims", ...),
        "graph.template.json: error: tensors[1].dims: case 'only' has no value of the tensor "
        "with uid 1 for '${case.dims}'",
    ),
    (
        put("cases", 0, "tensor_patches", [{"uid": 7}]),
        "graph.template.json: error: case 'only': tensor_patches[0]: no tensor has the uid 7",
    ),
    (
        put(*VALUES, "tensors", 1, "dims", "4"),
        "graph.template.json: error: tensors[1]: expected field 'dims' to be an array",
    ),
]


@pytest.mark.parametrize(("change", "message"), BROKEN, ids=[text[:50] for _, text in BROKEN])
def test_broken_sweep(change: Callable[[Json], None], message: str, tmp_path: Path):
    template, sweep = templated(relu())
    sweep = copy.deepcopy(sweep)
    change(sweep)
    with pytest.raises(HipgraftError) as caught:
        read_file(write(tmp_path, template, sweep))
    assert str(caught.value).startswith(f"{tmp_path}/{message}")


@pytest.mark.parametrize("depth", [101, 900, 5000])
def test_nesting_is_bounded(depth: int, tmp_path: Path):
    template, sweep = templated(relu(name="deep"))
    text = json.dumps(template).replace('"deep"', "[" * depth + "]" * depth)
    write(tmp_path, {}, sweep)
    (tmp_path / "graph.template.json").write_text(text)
    with pytest.raises(HipgraftError, match=r"malformed JSON: .*nested"):
        read_file(tmp_path)


# One extent for all tensors would be a guess for each of them.
def test_extents_are_of_single_tensors(tmp_path: Path):
    template, sweep = templated(relu())
    values = sweep["cases"][0]["values"]
    values["dims"] = values["tensors"][0].pop("dims")
    with pytest.raises(HipgraftError, match=r"of the tensor with uid 0 for '\$\{case.dims\}'"):
        read_file(write(tmp_path, template, sweep))


def several(tmp_path: Path, count: int) -> Path:
    template, sweep = templated(relu())
    values = sweep["cases"][0]["values"]
    sweep["cases"] = [{"id": f"case {at}", "values": values} for at in range(count)]
    return write(tmp_path, template, sweep)


TOOLS = {
    "compile": lambda path, *flags: hipgraft_compile.main(
        [str(path), "-q", "--compile-to=hipdnn-graphs", *flags]
    ),
    "opt": lambda path, *flags: hipgraft_opt.main([str(path), *flags]),
    "translate": lambda path, *flags: hipgraft_translate.main(
        [str(path), "--import-hipdnn-json", *flags]
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_tools_take_a_case(tool: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    run, folder = TOOLS[tool], several(tmp_path, 3)
    assert run(folder, "--sweep-case=case 1") == 0
    assert "hipdnn.pointwise" in capfd.readouterr().out
    assert run(folder / "graph.template.json", "--list-cases") == 0
    assert capfd.readouterr().out == "case 0\ncase 1\ncase 2\n"
    assert run(folder, "--sweep-case=case 7") == 1
    names = "'case 0', 'case 1', 'case 2'"
    error = f"{folder}/sweep.json: error: no case 'case 7'; there are {names}\n"
    assert capfd.readouterr().err == error
    assert run(folder) == 1
    assert capfd.readouterr().err == (
        f"{folder}/sweep.json: error: the graph is a template; choose a case with "
        f"'--sweep-case': {names}\n"
    )
    (folder / "sweep.json").unlink()
    for flags in ((), ("--list-cases",)):
        assert run(folder, *flags) == 1
        assert capfd.readouterr().err == (
            f"{folder}/graph.template.json: error: the template's sweep '{folder}/sweep.json' is "
            "missing\n"
        )
    (folder / "graph.template.json").unlink()
    assert run(folder) == 1
    error = f"{folder}: error: the folder has no 'graph.template.json'\n"
    assert capfd.readouterr().err == error


@pytest.mark.parametrize("tool", TOOLS)
def test_graph_has_no_cases(tool: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(relu()))
    for flag in ("--sweep-case=x", "--list-cases"):
        assert TOOLS[tool](path, flag) == 1
        error = f"{path}: error: the file is no template and has no cases\n"
        assert capfd.readouterr().err == error


def test_many_cases_are_cut_off(tmp_path: Path):
    with pytest.raises(HipgraftError, match=r"'case 15' and 4 more, which '--list-cases' prints$"):
        read_file(several(tmp_path, 20))


def test_template_of_another_name_needs_a_sweep(tmp_path: Path):
    template, sweep = templated(relu())
    path, cases = tmp_path / "relu.json", tmp_path / "cases.json"
    path.write_text(json.dumps(template))
    cases.write_text(json.dumps(sweep))
    with pytest.raises(HipgraftError, match="is a template without a sweep; give its cases with"):
        read_file(path)
    assert read_file(path, sweep=str(cases)).io_data_type == "float"


@pytest.mark.parametrize("seed", range(6))
def test_changed_templates_are_read_or_refused(seed: int):
    """Replacing any value by any other gives a graph, or an error with a location."""
    generator = random.Random(seed)
    context = make_context()
    without_place: list[str] = []
    names = list(GRAPHS)
    for _ in range(60):
        template, sweep = templated(GRAPHS[generator.choice(names)])
        for _ in range(generator.randint(1, 3)):
            if generator.random() < 0.5:
                template = changed_document(template, generator)
            else:
                sweep = changed_document(sweep, generator)
        try:
            cases = hipdnn_io.sweep_cases(json.loads(json.dumps(sweep)), "sweep.json")
            for case in cases.values():
                found = hipdnn_io.expand_template(template, case, "graph.template.json")
                text = json.dumps(found, ensure_ascii=False)
                document = hipdnn_io.read_json(text, "graph.json")
                hipdnn_io.import_document(document, context)
        except HipgraftError as error:
            if not re.match(r"[^ ]+\.json: .*error: ", str(error)):
                without_place.append(str(error))
    assert not without_place


def test_names_may_be_empty(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    """A node, a graph and a tensor may lack a name, as in hipDNN's own templates."""
    source = graph(
        [
            node("MatmulAttributes", "", inputs=uids(a=1, b=2), outputs=uids(c=3)),
            pointwise("relu_fwd", 3, out=4, name=""),
        ],
        [
            *(tensor(uid, [2, 2], name="") for uid in (1, 2)),
            tensor(3, [2, 2], name="", virtual=True),
            tensor(4, [2, 2], name=""),
        ],
        name="",
    )
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(source))
    module = hipdnn_io.import_document(read_file(path))
    document = hipdnn_io.export_graph(hipdnn_io.find_graph(module))
    assert json.loads(hipdnn_io.write_json(document)) == source
    a, b = np.array([[1, 2], [3, 4]], np.float32), np.array([[0, 1], [-1, 2]], np.float32)
    program = compile(path, "cpu")
    np.testing.assert_allclose(program.run([a, b])[0], np.maximum(a @ b, 0))
    flags = ["-q", "--target=cpu", "--report", "-o", str(tmp_path / "out.mlir")]
    assert hipgraft_compile.main([str(path), *flags]) == 0
    assert "graph" in capfd.readouterr().err
    assert 'hipgraft.names = ["tensor_1", "tensor_2", "tensor_4"]' in str(module)
