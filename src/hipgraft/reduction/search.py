"""Edits chunks of sites, and keeps each smaller module that is valid and interesting.

It follows delta debugging (Zeller and Hildebrandt, 2002), as mlir-reduce and C-Reduce do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from hipgraft.ir.bindings import asm, ir
from hipgraft.ir.contained import LostError, made_by
from hipgraft.ir.diagnostics import HipgraftError, diagnostics_to
from hipgraft.ir.io import walk
from hipgraft.reduction import shapes
from hipgraft.reduction.edits import EDITS, Edit, inner_ops, is_terminator
from hipgraft.reduction.validity import Validity

_Change: TypeAlias = Callable[[ir.Module], None]

_VALID, _INVALID = "+", "-"
_CONSTANTS = ("arith.constant", "torch.constant.", "torch.vtensor.literal")


@dataclass(frozen=True, order=True)
class Size:
    """The size of a module; the first field that differs decides.

    Attributes:
        ops: number of ops, not counting the module, constants and terminators.
        constants: number of constants.
        values: number of operands, results and arguments.
        extents: sum over all types.
        attributes: number of attributes of all ops.
        characters: length of the generic text.
    """

    ops: int
    constants: int
    values: int
    extents: int
    attributes: int
    characters: int

    @classmethod
    def of(cls, module: ir.Module, text: str) -> Size:
        """Measures a module that has this generic text."""
        inner = [op for op in inner_ops(module) if not is_terminator(op)]
        constants = sum(op.name.startswith(_CONSTANTS) for op in inner)
        values = attributes = 0
        for op in walk(module.operation):
            values += len(op.operands) + len(op.results)
            attributes += len(op.attributes)
            values += sum(len(block.arguments) for region in op.regions for block in region.blocks)
        extents = shapes.total(text)
        return cls(len(inner) - constants, constants, values, extents, attributes, len(text))


def _unchanged(_: ir.Module) -> None:
    """Leaves a module as it is."""


@dataclass(frozen=True)
class _Candidate:
    """A smaller module, and the site at which the search continues if it is accepted."""

    text: str
    size: Size
    place: int


class Reducer:
    """Makes a module smaller.

    Attributes:
        text: text of the smallest interesting module so far.
        size: size of that module.
        trials: number of modules that were tried.
    """

    def __init__(
        self,
        module: ir.Module,
        is_interesting: Callable[[str], bool],
        *,
        jobs: int = 1,
        any_stage: bool = False,
        on_smaller: Callable[[Reducer], None] = lambda _: None,
    ):
        """Measures the module to be reduced.

        Args:
            module: the module, which does not change.
            is_interesting: returns whether the text of a module has the property; called from
                `jobs` threads.
            jobs: number of modules to try at the same time; does not affect the outcome.
            any_stage: whether a smaller module may break the contracts of the module's stage.
            on_smaller: called with each smaller module that is found.

        Raises:
            HipgraftError: the module is invalid, or not interesting when printed.
        """
        self.text = asm(module)
        self.trials = 1
        self._context = module.context
        self._is_interesting = is_interesting
        self._jobs = jobs
        self._on_smaller = on_smaller
        self._validity = Validity(module, any_stage=any_stage)
        parsed = self._parsed(self.text)
        if parsed is None:
            raise HipgraftError("the module does not parse once it is printed")
        self.size = Size.of(parsed, _generic(parsed))
        self._seen = {_generic(parsed)}
        if not is_interesting(self.text):
            raise HipgraftError("the module is not interesting to the command once it is printed")

    def run(self) -> str:
        """Returns the text of the smallest module found, which no single edit reduces further."""
        searches = [partial(_EditSearch, edit) for edit in EDITS]
        threads = ThreadPoolExecutor(self._jobs)
        try:
            before = None
            while self.size != before:
                before = self.size
                for search in (*searches, _ShapeSearch):
                    self._exhaust(search(), threads)
        finally:
            # Candidates that were tried in advance are not needed.
            threads.shutdown(wait=False, cancel_futures=True)
        return self.text

    def _exhaust(self, search: _EditSearch | _ShapeSearch, threads: ThreadPoolExecutor) -> None:
        size = search.count(self)
        while size > 0:
            place = 0
            while (found := self._first(search.candidates(self, size, place), threads)) is not None:
                place, self.text, self.size = found.place, found.text, found.size
                self._on_smaller(self)
            size = min(size // 2, search.count(self))

    def _first(
        self, candidates: Iterator[_Candidate], threads: ThreadPoolExecutor
    ) -> _Candidate | None:
        """Returns the first interesting candidate, in order."""
        running: deque[tuple[_Candidate, Future[bool]]] = deque()
        for candidate in candidates:
            running.append((candidate, threads.submit(self._is_interesting, candidate.text)))
            self.trials += 1
            if len(running) == self._jobs and (found := _next(running)) is not None:
                return found
        while running:
            if (found := _next(running)) is not None:
                return found
        return None

    def candidate(self, text: str, change: _Change, place: int) -> _Candidate | None:
        """Returns a changed module as a candidate.

        A copy of this process changes, verifies and prints it first, because an edited op may break
        assumptions of native code. If the copy crashes, there is no candidate.

        Args:
            text: text of the module.
            change: function that edits the module.
            place: site at which the search continues if the candidate is accepted.

        Returns:
            The candidate; None if it is invalid, no smaller, or known.
        """
        try:
            made = made_by(lambda: self._changed(text, change))
        except LostError:
            return None
        is_valid, generic = made.startswith(_VALID), made[len(_VALID) :]
        if not made or generic in self._seen:
            return None
        self._seen.add(generic)
        module = self._parsed(generic) if is_valid else None
        if module is None:
            return None
        size = Size.of(module, generic)
        return _Candidate(asm(module), size, place) if size < self.size else None

    def _changed(self, text: str, change: _Change) -> str:
        """Returns the validity and the generic text of a changed module; empty if it is known."""
        module = self.edited(text, change)
        generic = "" if module is None else _generic(module)
        if not generic or generic in self._seen:
            return ""
        printed = self._parsed(generic)
        if printed is None or not self._is_valid(printed):
            return f"{_INVALID}{generic}"
        asm(printed)
        return f"{_VALID}{generic}"

    def _is_valid(self, module: ir.Module) -> bool:
        with diagnostics_to(self._context, _ignore):
            return self._validity.keeps(module)

    def _parsed(self, text: str) -> ir.Module | None:
        try:
            with diagnostics_to(self._context, _ignore):
                return ir.Module.parse(text, self._context)
        except ir.MLIRError:
            return None

    def edited(self, text: str, change: _Change = _unchanged) -> ir.Module | None:
        """Returns a changed module; None if the text does not parse or the edit does not apply."""
        module = self._parsed(text)
        if module is None:
            return None
        try:
            with diagnostics_to(self._context, _ignore), self._context, ir.Location.unknown():
                change(module)
        except Exception:  # `CannotEdit`, or any exception from edits of an invalid module
            return None
        return module


class _EditSearch:
    """Tries one edit on chunks of its sites."""

    def __init__(self, edit: Edit):
        self._edit = edit

    def count(self, reducer: Reducer) -> int:
        module = reducer.edited(reducer.text)
        return 0 if module is None else len(self._edit.sites(module))

    def candidates(self, reducer: Reducer, size: int, place: int) -> Iterator[_Candidate]:
        """Yields candidates from site `place` on, each with a chunk of `size` sites edited."""
        text, count = reducer.text, self.count(reducer)
        for start in range(place, count, size):
            for form in range(self._edit.forms):
                candidate = reducer.candidate(
                    text,
                    lambda it, at=start, form=form: self._edit.apply(
                        self._edit.sites(it)[at : at + size], form
                    ),
                    start,
                )
                if candidate is not None:
                    yield candidate


class _ShapeSearch:
    """Tries smaller extents, one at a time."""

    def count(self, reducer: Reducer) -> int:
        return 1

    def candidates(self, reducer: Reducer, size: int, place: int) -> Iterator[_Candidate]:
        text = reducer.text
        for number, extent in enumerate(shapes.extents(text)):
            for form in range(shapes.FORMS if number >= place else 0):
                other = shapes.replaced(text, extent, form)
                if other == text:
                    continue
                for change in (shapes.infer, _unchanged):
                    candidate = reducer.candidate(other, change, number)
                    if candidate is not None:
                        yield candidate


def _generic(module: ir.Module) -> str:
    return module.operation.get_asm(print_generic_op_form=True)


def _next(running: deque[tuple[_Candidate, Future[bool]]]) -> _Candidate | None:
    candidate, future = running.popleft()
    return candidate if future.result() else None


def _ignore(_: object) -> None:
    """Ignores diagnostics: candidates may fail to verify."""
