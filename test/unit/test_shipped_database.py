"""The shipped database has entries for the current graphs of the models of published size."""

from __future__ import annotations

from functools import cache

import pytest

from hipgraft.codegen.canonical import container_key, find_containers
from hipgraft.codegen.lowering.context import ALTERNATIVES
from hipgraft.codegen.plan import Plan
from hipgraft.service.keys import compiler_version
from hipgraft.service.tuning.database import shipped_database
from hipgraft.service.tuning.work import graph_work
from hipgraft.tools.dev.gen_tuning_database import ARCHITECTURES, model_names, outlined

# The others take many seconds to import.
MODELS = ("resnet50_f16", "whisper_base_encoder")

ENTRIES = shipped_database().entries


@cache
def contractions(model: str, target: str) -> dict[str, bool]:
    """Whether each graph of a model has a contraction, by its key."""
    module = outlined(model, target)
    return {container_key(op): graph_work(op).flops > 0 for op in find_containers(module)}


@pytest.mark.slow
@pytest.mark.sampled(8)
@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("model", MODELS)
def test_its_entries_are_hit(model: str, target: str) -> None:
    entries = [entry for entry in ENTRIES if entry.target == target]
    named = {entry.graph for entry in entries if entry.name.startswith(f"{model}/")}
    assert named
    known = contractions(model, target).keys()
    assert named - known == set(), "run tools/dev/gen_tuning_database.py"


@pytest.mark.slow
def test_it_knows_most_contractions_of_resnet50() -> None:
    known = {entry.graph for entry in ENTRIES if entry.target == "gfx942"}
    wanted = {key for key, contracts in contractions("resnet50_f16", "gfx942").items() if contracts}
    assert len(wanted & known) >= 0.8 * len(wanted), "run tools/dev/gen_tuning_database.py"


def test_it_is_for_the_models_architectures_and_compiler_of_the_generator() -> None:
    assert {entry.name.partition("/")[0] for entry in ENTRIES} <= set(model_names())
    assert {entry.target for entry in ENTRIES} == set(ARCHITECTURES)
    assert {entry.compiler for entry in ENTRIES} == {compiler_version()}


def test_its_plans_name_alternatives_that_exist() -> None:
    for entry in ENTRIES:
        for op, alternative in Plan.parse(entry.plan).alternatives:
            assert alternative in ALTERNATIVES[op]
