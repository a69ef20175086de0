"""Cost models, the tuning database, and the search among lowerings."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from emulator import requires_emulator
from lowering_cases import Case, build_graph, tensor_type
from test_lowering_attention import backward_case
from test_lowering_moe import backward_case as expert_gradient_case
from test_lowering_moe import forward_case as expert_case
from test_lowering_moe import offsets

from hipgraft.codegen.canonical import container_key
from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.objects.matrix_code import count_matrix_instructions
from hipgraft.codegen.plan import DEFAULT_PLAN, Plan
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn
from hipgraft.emulator.disassembly import disassembler
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import CodegenError, HipgraftError, HipgraftWarning
from hipgraft.service.job import Outcome
from hipgraft.service.keys import compiler_version
from hipgraft.service.request import Request
from hipgraft.service.service import CompileService
from hipgraft.service.tuning.cost_model import Cost
from hipgraft.service.tuning.database import Database, Tuned, read_database
from hipgraft.service.tuning.decision import Candidate, decide
from hipgraft.service.tuning.plans import Choices
from hipgraft.service.tuning.search import Search, open_cost_models
from hipgraft.service.tuning.static import StaticCostModel
from hipgraft.service.tuning.work import GraphWork, graph_work
from hipgraft.tools import hipgraft_tune, service_flags

FUSED, PADDED, DECOMPOSED = (
    Plan((("hipdnn.sdpa", name),)) for name in ("fused", "padded", "decomposed")
)

_ALIVE: list[ir.Module] = []  # an operation does not keep its module


def attention(sequence: int, element: str = "f16") -> ir.Operation:
    """Returns a graph of one attention."""
    with make_context(), ir.Location.unknown():
        types = [tensor_type((1, 12, sequence, 64), element)] * 3
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            source = ir.Operation.create("test.source", results=types)
            graph = hipdnn.graph(list(source.results), types[:1], name="attention")
        with ir.InsertionPoint(graph.body):
            hipdnn.yield_([hipdnn.sdpa(*graph.body.arguments, attn_scale_value=0.125)])
        _ALIVE.append(module)
        return graph.operation


@pytest.fixture(scope="module")
def odd() -> ir.Operation:
    return attention(197)


def compiled(graph: ir.Operation, plan: Plan, target: str = "gfx942") -> Kernel:
    return compile_text(Choices(graph, Target.parse(target)).lower(plan), Target.parse(target))


@pytest.fixture(scope="module")
def kernels(odd: ir.Operation) -> dict[Plan, Kernel]:
    return {plan: compiled(odd, plan) for plan in (FUSED, PADDED, DECOMPOSED)}


def disassembled(code: bytes, directory: Path) -> dict[str, int]:
    """Returns the number of matrix instructions in each function, by LLVM's disassembler."""
    path = directory / "code.hsaco"
    path.write_bytes(code)
    text = subprocess.run(
        [disassembler(), "-d", path], check=True, capture_output=True, text=True
    ).stdout
    parts = re.split(r"^[0-9a-f]+ <(.+)>:$", text, flags=re.MULTILINE)[1:]
    bodies = zip(parts[::2], parts[1::2], strict=True)
    return {name: len(re.findall(r"\bv_s?w?mf?mac?[a-z]*_", body)) for name, body in bodies}


@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
def test_matrix_instructions_are_those_of_the_disassembly(
    odd: ir.Operation, architecture: str, tmp_path: Path
) -> None:
    found = 0
    for plan in (PADDED, DECOMPOSED):
        for code in compiled(odd, plan, architecture).objects:
            counts = count_matrix_instructions(code, architecture)
            oracle = disassembled(code, tmp_path)
            assert counts == {name: oracle[name] for name in counts}
            found += sum(counts.values())
    assert found > 0


@pytest.mark.slow
def test_the_static_cost_model_names_what_is_pathological(
    odd: ir.Operation, kernels: dict[Plan, Kernel]
) -> None:
    cost_model, work = StaticCostModel(), graph_work(odd)
    costs = {plan: cost_model.cost(kernel, work) for plan, kernel in kernels.items()}
    assert "contracts without matrix instructions" in costs[FUSED].problems[0]
    assert costs[PADDED].problems == costs[DECOMPOSED].problems == ()
    assert costs[FUSED].value > max(costs[PADDED].value, costs[DECOMPOSED].value)


@requires_emulator
def test_attention_is_ranked(odd: ir.Operation, kernels: dict[Plan, Kernel]) -> None:
    """The fused form is by far the worst; the other two take about as long by time."""
    counted, estimated = open_cost_models(["counted", "estimated"])
    work = graph_work(odd)
    counts = {plan: counted.cost(kernel, work).value for plan, kernel in kernels.items()}
    assert max(counts[PADDED], counts[DECOMPOSED]) < counts[FUSED] / 100
    times = {plan: estimated.cost(kernels[plan], work).value for plan in (PADDED, DECOMPOSED)}
    assert 0.7 < times[PADDED] / times[DECOMPOSED] < 1.4


def test_work_is_that_of_the_definition(odd: ir.Operation) -> None:
    work = graph_work(odd)
    assert work.flops == 2 * (2 * 12 * 197 * 197 * 64)
    assert work.bytes == 4 * (12 * 197 * 64) * 2
    assert (work.contractions, work.elements) == (2, {"f16"})
    assert work.least_matrix_instructions("gfx942") == -(-work.flops // (2 * 32 * 32 * 8))
    assert work.least_matrix_instructions("gfx1100") == -(-work.flops // (2 * 16 * 16 * 16))


def gradients(op: str, groups: int) -> ir.Operation:
    """Returns a graph of one gradient of a convolution 2x8x9x9 with 6 filters of 3x3 by 2."""
    shapes = {"x": (2, 8, 9, 9), "w": (6, 8 // groups, 3, 3), "y": (2, 6, 4, 4)}
    names = {"conv_fprop": "xwy", "conv_dgrad": "ywx", "conv_wgrad": "xyw"}[op]
    sliding = {"pre_padding": [0, 0], "post_padding": [0, 0], "stride": [2, 2], "dilation": [1, 1]}
    with make_context(), ir.Location.unknown():
        *types, result = (tensor_type(shapes[name], "f16") for name in names)
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            source = ir.Operation.create("test.source", results=types)
            graph = hipdnn.graph(list(source.results), [result], name=op)
        with ir.InsertionPoint(graph.body):
            build = getattr(hipdnn, op)
            hipdnn.yield_([build(*graph.body.arguments, **sliding, result_type=result)])
        _ALIVE.append(module)
        return graph.operation


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("op", ["conv_fprop", "conv_dgrad", "conv_wgrad"])
def test_gradients_take_as_much_as_the_convolution(op: str, groups: int) -> None:
    assert graph_work(gradients(op, groups)).flops == 2 * (2 * 4 * 4) * 6 * (8 // groups) * 9


@pytest.mark.parametrize(
    ("case", "flops"),
    [
        (backward_case("five", q=(1, 2, 4, 5), k=(1, 2, 3, 5)), 5 * 2 * (2 * 4 * 3 * 5)),
        (expert_case("rows", "f32", offsets(0, 2, 5), tokens=7, weights=(3, 9, 5)), 2 * 7 * 9 * 5),
        (expert_gradient_case("f32", offsets(0, 2, 5)), 2 * 8 * 6 * 5),
    ],
    ids=["attention", "experts", "gradient-of-experts"],
)
def test_products_inside_of_other_ops_count(case: Case, flops: int) -> None:
    with make_context(), ir.Location.unknown():
        module, graph = build_graph(case)
        _ALIVE.append(module)
        assert graph_work(graph.operation).flops == flops


@dataclass
class FakeCostModel:
    """Cost models fake kernels, whose target is the text of their plan."""

    name: str
    costs: dict[Plan, float]
    problems: tuple[str, ...] = ()

    def cost(self, kernel: Kernel, work: GraphWork) -> Cost:
        cost = self.costs.get(Plan.parse(kernel.target), 1e9)
        return Cost(self.name, cost, problems=self.problems)


@dataclass
class FakeCompiler:
    """Makes fake kernels; `broken` plans fail."""

    broken: Sequence[Plan] = ()
    permanent: bool = True
    requests: list[Request] = field(default_factory=list[Request])

    @property
    def asked(self) -> int:
        return len(self.requests)

    def __call__(self, requests: Sequence[Request]) -> list[Outcome]:
        self.requests += requests
        return [self._outcome(request) for request in requests]

    def _outcome(self, request: Request) -> Outcome:
        plan = DEFAULT_PLAN
        if "\nplan " in request.container:
            plan = Plan.parse(request.container.rpartition("\nplan ")[2])
        if plan in self.broken:
            return Outcome(error=CodegenError("no"), permanent=self.permanent)
        return Outcome(kernel=Kernel(str(plan), "fake", ()))


def request(graph: ir.Operation) -> Request:
    target = Target.parse("gfx942")
    choices = Choices(graph, target)
    digest = container_key(graph)
    return Request("attention", "text", digest, target, (), lambda: "", choices)


def test_a_default_lowering_that_is_no_problem_is_kept(odd: ir.Operation) -> None:
    compiler = FakeCompiler()
    (outcome,) = Search().compile([request(odd)], compiler)
    assert outcome.decision is not None
    assert (outcome.decision.source, compiler.asked) == ("default", 1)
    assert outcome.decision.chosen.plan == DEFAULT_PLAN


def test_where_the_default_lowering_fails_others_are_tried(odd: ir.Operation) -> None:
    search = Search(cost_models=[FakeCostModel("counted", {DECOMPOSED: 5})])
    (outcome,) = search.compile([request(odd)], FakeCompiler(broken=[DEFAULT_PLAN]))
    assert outcome.kernel is not None
    assert outcome.kernel.target == str(DECOMPOSED)
    assert outcome.decision is not None
    assert "default: no" in str(outcome.decision)


def test_the_static_cost_model_says_what_is_searched(
    odd: ir.Operation, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = Search(cost_models=[FakeCostModel("counted", {FUSED: 1})])
    for problems, taken in (((), DEFAULT_PLAN), (("spills",), FUSED)):
        cost_model = FakeCostModel("static", {}, problems)
        monkeypatch.setattr(
            "hipgraft.service.tuning.search.StaticCostModel",
            lambda cost_model=cost_model: cost_model,
        )
        (outcome,) = search.compile([request(odd)], FakeCompiler())
        assert outcome.kernel is not None
        assert outcome.kernel.target == str(taken)


def test_without_search_what_fails_is_not_tried_in_other_ways(odd: ir.Operation) -> None:
    compiler = FakeCompiler(broken=[DEFAULT_PLAN])
    search = Search("none")
    search.compile([request(odd)], compiler)
    assert (compiler.asked, search.found.entries) == (1, [])


def test_the_largest_graph_is_searched_first(odd: ir.Operation) -> None:
    compiler, small = FakeCompiler(), request(attention(16))
    Search("full", [FakeCostModel("counted", {})]).compile([small, request(odd)], compiler)
    candidates = [each.digest for each in compiler.requests[2:]]
    assert candidates[0] == container_key(odd)
    assert candidates[-1] == small.digest


def test_of_what_never_compiles_nothing_is_known(odd: ir.Operation) -> None:
    compiler = FakeCompiler()
    Search("full", [FakeCostModel("counted", {})]).compile([request(odd)], compiler)
    parts = [each.container.rpartition("\nplan ")[2] for each in compiler.requests[1:]]
    broken = FakeCompiler(broken=[DEFAULT_PLAN, *map(Plan.parse, parts)])
    search = Search("full", [FakeCostModel("counted", {})])
    search.compile([request(odd)], broken)
    assert broken.asked == compiler.asked
    assert search.found.entries == []


def test_a_full_search_tries_what_the_database_knows_again(odd: ir.Operation) -> None:
    entry = Tuned(
        container_key(odd), "gfx942", compiler_version(), "a", str(DECOMPOSED), "counted", {}
    )
    search = Search("full", [FakeCostModel("counted", {FUSED: 1})], Database([entry]))
    compiler = FakeCompiler()
    (outcome,) = search.compile([request(odd)], compiler)
    assert outcome.kernel is not None
    assert outcome.kernel.target == str(FUSED)
    # Each plan once: the one that is known is not compiled again.
    asked = [request.container for request in compiler.requests]
    assert len(set(asked)) == len(asked) > 2


def test_a_small_gain_changes_nothing(odd: ir.Operation) -> None:
    for cost, taken in ((85, DEFAULT_PLAN), (75, FUSED)):
        search = Search("full", [FakeCostModel("counted", {DEFAULT_PLAN: 100, FUSED: cost})])
        (outcome,) = search.compile([request(odd)], FakeCompiler())
        assert outcome.kernel is not None
        assert outcome.kernel.target == str(taken)


def test_a_gain_must_be_worth_its_launches() -> None:
    def candidate(cost: float, launches: int, cost_model: str = "counted") -> Candidate:
        return Candidate(DEFAULT_PLAN, (Cost(cost_model, cost),), launches=launches)

    default, split = candidate(5e5, 1), candidate(2e5, 3)
    assert decide("search", [default, split]).chosen is default
    better = candidate(5e4, 3)
    assert decide("search", [candidate(1e6, 1), better]).chosen is better
    assert decide("search", [candidate(1e6, 1), candidate(1e4, 4), better]).chosen is better
    timed = candidate(2.0, 3, "timed")
    assert decide("search", [candidate(5.0, 1, "timed"), timed]).chosen is timed


def test_what_compiles_is_taken_before_what_does_not() -> None:
    """The emulator may stop at either candidate; the cost is then meaningless."""
    broken, stopped = (
        Candidate(DEFAULT_PLAN, error="no"),
        Candidate(FUSED, (Cost("counted", float("inf")),)),
    )
    decision = decide("search", [broken, stopped])
    assert (decision.chosen, decision.rejected) == (stopped, (broken,))


def test_a_crash_is_not_tried_in_other_ways(odd: ir.Operation) -> None:
    compiler = FakeCompiler(broken=[DEFAULT_PLAN], permanent=False)
    Search().compile([request(odd)], compiler)
    assert compiler.asked == 1


def test_a_spent_budget_tries_no_plan(odd: ir.Operation) -> None:
    compiler = FakeCompiler()
    Search("full", budget=-1).compile([request(odd)], compiler)
    assert compiler.asked == 1


def test_what_was_found_is_known_and_disagreement_is_told(odd: ir.Operation) -> None:
    cost_models = [FakeCostModel("counted", {FUSED: 2}), FakeCostModel("static", {DECOMPOSED: 1})]
    search = Search("full", cost_models)
    (outcome,) = search.compile([request(odd)], FakeCompiler())
    preference = f"'static' prefers {DECOMPOSED} (1 to 1e+09), 'counted' does not"
    assert preference in str(outcome.decision)
    compiler = FakeCompiler()
    (outcome,) = Search(database=search.found).compile([request(odd)], compiler)
    assert outcome.kernel is not None
    assert (outcome.kernel.target, compiler.asked) == (str(FUSED), 1)


def real(graph: ir.Operation) -> Request:
    """A request that compiles."""
    fake = request(graph)
    choices = fake.choices
    assert choices is not None
    flags = fake.target.default_flags
    return replace(fake, flags=flags, lower=lambda: choices.lower(DEFAULT_PLAN))


@pytest.mark.slow
def test_the_service_compiles_what_the_database_says(odd: ir.Operation) -> None:
    entry = Tuned(
        container_key(odd), "gfx942", compiler_version(), "a", str(DECOMPOSED), "counted", {}
    )
    with CompileService(search=Search("none", database=Database([entry]))) as service:
        (outcome,) = service.compile([real(odd)])
    assert outcome.kernel is not None
    assert len(outcome.kernel.dispatches) == 5  # of which two pad keys and values


def tuned(plan: str, cost_model: str, graph: str = "g") -> Tuned:
    return Tuned(graph, "gfx942", "3", "name", plan, cost_model, {plan: 1.0})


def test_databases_merge_by_trust_and_are_their_text(tmp_path: Path) -> None:
    database = Database(
        [tuned("flags=materialized-padding", "counted"), tuned("default", "static")]
    )
    assert database.find("g", "gfx942", "3") == Plan(flag_set="materialized-padding")
    database.merge([tuned("default", "counted"), tuned("default", "static", "h")])
    assert database.find("g", "gfx942", "3") == DEFAULT_PLAN
    assert database.find("g", "gfx942", "4") is None
    assert database.find("g", "gfx950", "3") is None
    path = tmp_path / "db.json"
    path.write_text(database.to_json())
    assert read_database(path).entries == database.entries


def test_plans_decide_what_a_database_is() -> None:
    entry = tuned("default", "counted")
    same = replace(entry, name="other", costs={"default": 2.0})
    assert Database([entry]).identity == Database([same]).identity
    others = [
        *(replace(entry, **{field: "x"}) for field in ("graph", "target", "compiler")),
        replace(entry, plan="flags=materialized-padding"),
    ]
    assert len({Database([each]).identity for each in [entry, *others]}) == 5


ENTRY = {**asdict(tuned("default", "static")), "costs": {"default": 1}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": 2,\n "entries": [}', "db.json:2:14: .*invalid character"),
        ("[]", "expected 'object', got 'array'"),
        ('{"format": 1, "entries": []}', r"invalid enum value 1 - at '\$.format'"),
        ('{"format": 2}', "missing required field 'entries'"),
        ('{"format": 2, "entries": [1]}', r"expected 'object', got 'int' - at '\$.entries"),
        ({"cost_model": "wise"}, "entry 1: expected a cost model of timed, .* found 'wise'"),
        ({"plan": "flags=none"}, "entry 1: unknown flag set 'none'"),
        ({"plan": 3}, r"expected 'str', got 'int' - at '\$.entries.*plan'"),
        ({"costs": {"default": "much"}}, "expected 'float', got 'str'"),
        ({"costs": []}, "expected 'object', got 'array'"),
        ({"wisdom": 1}, "unknown field 'wisdom'"),
    ],
)
def test_a_malformed_database_is_a_located_error(
    text: str | dict[str, object], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "db.json"
    if not isinstance(text, str):
        text = json.dumps({"format": 2, "entries": [ENTRY, {**ENTRY, **text}]})
    path.write_text(text)
    with pytest.raises(HipgraftError, match=message) as caught:
        read_database(path)
    assert caught.value.location.startswith(str(path))


def test_a_field_of_an_entry_may_not_be_absent(tmp_path: Path) -> None:
    path = tmp_path / "db.json"
    given = {name: value for name, value in ENTRY.items() if name != "compiler"}
    path.write_text(json.dumps({"format": 2, "entries": [given]}))
    with pytest.raises(HipgraftError, match="missing required field 'compiler'"):
        read_database(path)


@pytest.mark.slow
def test_an_unknown_alternative_is_rejected_with_its_reason(odd: ir.Operation) -> None:
    entry = replace(tuned("hipdnn.sdpa=wise", "counted"), graph=container_key(odd))
    entry = replace(entry, compiler=compiler_version())
    with CompileService(search=Search(database=Database([entry]))) as service:
        (outcome,) = service.compile([real(odd)])
    assert outcome.kernel is not None
    message = "'hipdnn.sdpa' op has no alternative 'wise': expected fused"
    assert any(message in candidate.error for candidate in outcome.decision.rejected)


def test_unknown_and_missing_cost_models(monkeypatch: pytest.MonkeyPatch) -> None:
    disassembler.cache_clear()
    monkeypatch.setenv("HIPGRAFT_LLVM_OBJDUMP", "/nowhere/llvm-objdump")
    for name in ("wise", "counted"):
        with pytest.raises(HipgraftError):
            open_cost_models([name])
    disassembler.cache_clear()


PRODUCTS = """
func.func @main(%x: !torch.vtensor<[2,1280],f16>, %w: !torch.vtensor<[1280,320],f16>,
    %v: !torch.vtensor<[320,64],f16>) -> !torch.vtensor<[2,64],f16> {
  %y = torch.aten.mm %x, %w : !torch.vtensor<[2,1280],f16>, !torch.vtensor<[1280,320],f16>
      -> !torch.vtensor<[2,320],f16>
  %z = torch.aten.mm %y, %v : !torch.vtensor<[2,320],f16>, !torch.vtensor<[320,64],f16>
      -> !torch.vtensor<[2,64],f16>
  return %z : !torch.vtensor<[2,64],f16>
}
"""


def interrupt_after(graphs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupts searches once a given number of graphs is done."""
    left, search = iter(range(graphs)), Search._search

    def stopped(self: Search, *arguments: Any) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        search(self, *arguments)

    monkeypatch.setattr(Search, "_search", stopped)


@pytest.mark.thorough
@pytest.mark.slow
def test_what_was_found_before_an_interrupt_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, path = tmp_path / "model.mlir", tmp_path / "db.json"
    model.write_text(PRODUCTS)
    arguments = [str(model), f"--database={path}", "-q", "--target=gfx942,gfx1100"]
    interrupt_after(0, monkeypatch)
    assert hipgraft_tune.main(arguments) == 130
    assert not path.exists()
    monkeypatch.undo()
    interrupt_after(1, monkeypatch)
    assert hipgraft_tune.main(arguments) == 130
    assert len(read_database(path).entries) == 1
    monkeypatch.undo()
    assert hipgraft_tune.main(arguments) == 0
    targets = [entry.target for entry in read_database(path).entries]
    assert sorted(targets) == ["gfx1100", "gfx1100", "gfx942", "gfx942"]


def test_a_database_of_another_compiler_is_told(tmp_path: Path) -> None:
    path = tmp_path / "db.json"
    path.write_text(Database([tuned("default", "static")]).to_json())
    flags = argparse.Namespace(tuning_db=[str(path)], cost_models="static", timing_device="")
    with pytest.warns(HipgraftWarning, match="nothing here is for compiler .*, only for 3$"):
        service_flags.open_search(flags, "default", 1)
