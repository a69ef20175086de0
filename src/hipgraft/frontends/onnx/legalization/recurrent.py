"""Unrolls recurrent networks: products of all inputs at once, then the products of each step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer

_MOST_STEPS = 1024
_DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_PARAMETERS = {
    "Affine": (1.0, 0.0),
    "Elu": (1.0, 0.0),
    "HardSigmoid": (0.2, 0.5),
    "LeakyRelu": (0.01, 0.0),
    "ScaledTanh": (1.0, 1.0),
    "ThresholdedRelu": (1.0, 0.0),
}
"""Defaults of alpha and beta."""
_PLAIN = ("Relu", "Tanh", "Sigmoid", "Softsign", "Softplus")


@dataclass
class _Direction:
    """One direction of a network.

    Attributes:
        inputs: products of all inputs and their weights, with biases, [T, B, gates · H].
        weights: weights of the state, [H, gates · H].
        bias: bias of the state where `inputs` does not include it, or an empty name.
        peepholes: peephole weights of the gates, [H] each.
        activations: activations of gates and states.
        h: state, [B, H]; empty if it is zeros.
        c: cell of an LSTM, likewise.
    """

    inputs: str
    weights: str
    bias: str
    peepholes: list[str]
    activations: list[Callable[[str], str]]
    h: str
    c: str = ""
    outputs: list[str] = field(default_factory=list[str])


class Network:
    """`(x, w, r, b, lengths, h, c, p)` of an RNN, a GRU or an LSTM.

    Args:
        writer: writer of the node.
        kind: kind of network, `RNN`, `GRU` or `LSTM`.
    """

    def __init__(self, writer: Writer, kind: str):
        self.writer = writer
        self.kind = kind
        self.element = writer.element(writer.node.input[0])
        x = writer.needed_shape(writer.node.input[0], "of this form")
        directions, *sides = writer.needed_shape(writer.node.input[2], "of this form")
        if len(x) != 3 or len(sides) != 2:
            raise ValueError("the input and the weights have three dimensions each")
        self.hidden = min(sides)  # the other extent covers all gates
        self.batch_first = bool(writer.attribute("layout", 0))
        self.batch, self.steps = (x[0], x[1]) if self.batch_first else (x[1], x[0])
        self.features, self.count = x[2], directions
        if self.steps > _MOST_STEPS:
            raise Refused(f"of {self.steps} steps is not supported")
        if self.element not in (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE):
            raise Refused("of this element type is not supported")
        self.clip = float(writer.attribute("clip", 0.0))
        self.resets_last = bool(writer.attribute("linear_before_reset", 0))

    def write(self) -> None:
        """Writes the nodes of all steps."""
        writer = self.writer
        x = writer.node.input[0]
        if self.batch_first:
            x = writer.transpose(x, [1, 0, 2])
        rows = writer.reshape(x, [self.steps * self.batch, self.features])
        masks = self._masks()
        made = [self._direction(rows, number) for number in range(self.count)]
        for number, one in enumerate(made):
            is_backward = number == 1 or writer.attribute("direction", "forward") == "reverse"
            order = range(self.steps)[::-1] if is_backward else range(self.steps)
            for step in order:
                self._advance(one, step, masks[step] if masks else "")
            if is_backward:
                one.outputs.reverse()
        self._results(made)

    def _masks(self) -> list[str]:
        """Writes whether each step is inside of each sequence, [B, 1]; empty at full length."""
        writer = self.writer
        if not writer.has_input(4):
            return []
        name = writer.node.input[4]
        known = writer.graph.constants.get(name)
        if known is not None and (known >= self.steps).all():
            return []
        lengths = writer.reshape(writer.cast(name, TensorProto.INT64), [self.batch, 1])
        return [writer.op("Less", writer.like_int(step), lengths) for step in range(self.steps)]

    def weights(self, index: int, number: int) -> str:
        """Returns the weights of one direction that are input `index`, [K, gates · H]."""
        return self.writer.transpose(self._of(index, number), [1, 0])

    def product(self, x: str, weights: str) -> str:
        """Multiplies inputs or states, [B, K], by the result of `weights`, or by columns of it."""
        return self.writer.op("MatMul", x, weights)

    def _of(self, index: int, number: int) -> str:
        """Returns the part of an input for one direction."""
        return self.writer.op(
            "Gather", self.writer.node.input[index], self.writer.like_int(number), axis=0
        )

    def _state(self, index: int, number: int) -> str:
        """Returns the first state of one direction, [B, H]; empty if it is zeros."""
        writer = self.writer
        if not writer.has_input(index):
            return ""
        axis = 1 if self.batch_first else 0
        name = writer.node.input[index]
        data = writer.data(name)
        if data is not None and not data.any():
            return ""
        return writer.op("Gather", name, writer.like_int(number), axis=axis)

    def _direction(self, rows: str, number: int) -> _Direction:
        writer, gates = self.writer, _GATES[self.kind]
        w, r = (self.weights(index, number) for index in (1, 2))
        products, bias = self.product(rows, w), ""
        if writer.has_input(3):
            both = self._of(3, number)
            size = gates * self.hidden
            first = writer.slice(both, 0, 0, size)
            second = writer.slice(both, 0, size, 2 * size)
            if self.resets_last and self.kind == "GRU":  # the state's bias is added before a reset
                bias = second
            else:
                first = writer.op("Add", first, second)
            products = writer.op("Add", products, first)
        shape = [self.steps, self.batch, gates * self.hidden]
        return _Direction(
            writer.reshape(products, shape),
            r,
            bias,
            self._peepholes(number),
            self._activations(number),
            self._state(5, number),
            self._state(6, number) if self.kind == "LSTM" else "",
        )

    def _peepholes(self, number: int) -> list[str]:
        if self.kind != "LSTM" or not self.writer.has_input(7):
            return []
        return self._parts(self._of(7, number), 3, axis=0)

    def _parts(self, x: str, count: int, axis: int = 1) -> list[str]:
        size = self.hidden
        return [self.writer.slice(x, axis, n * size, (n + 1) * size) for n in range(count)]

    def _activations(self, number: int) -> list[Callable[[str], str]]:
        defaults = _DEFAULTS[self.kind]
        names = [_text(name) for name in self.writer.attribute("activations", [])]
        names = names or defaults * self.count
        alphas = list(self.writer.attribute("activation_alpha", []))
        betas = list(self.writer.attribute("activation_beta", []))
        made: list[Callable[[str], str]] = []
        for name in names:
            alpha, beta = _PARAMETERS.get(name, (0.0, 0.0))
            if name in _PARAMETERS and alphas:
                alpha = alphas.pop(0)
            if name in ("HardSigmoid", "Affine", "ScaledTanh") and betas:
                beta = betas.pop(0)
            made.append(_activation(self.writer, name, alpha, beta, self.element))
        each = len(defaults)
        return made[number * each : (number + 1) * each]

    def _clipped(self, x: str) -> str:
        if not self.clip:
            return x
        bounds = [self.writer.like(bound, self.element) for bound in (-self.clip, self.clip)]
        return self.writer.op("Min", self.writer.op("Max", x, bounds[0]), bounds[1])

    def _advance(self, one: _Direction, step: int, mask: str) -> None:
        """Makes one step; after the end of a sequence the state stays and the output is zero."""
        writer = self.writer
        given = writer.op("Gather", one.inputs, writer.like_int(step), axis=0)
        if self.kind == "RNN":
            h, c = self._rnn(one, given), ""
        elif self.kind == "GRU":
            h, c = self._gru(one, given), ""
        else:
            h, c = self._lstm(one, given)
        output = h
        if mask:
            output = writer.op("Where", mask, h, writer.like(0, self.element))
            zero = writer.like(0, self.element)
            h = writer.op("Where", mask, h, one.h or zero)
            c = writer.op("Where", mask, c, one.c or zero) if c else ""
        one.h, one.c = h, c
        one.outputs.append(output)

    def _rnn(self, one: _Direction, given: str) -> str:
        total = self._plus(given, self._from_state(one.h, one.weights))
        return one.activations[0](self._clipped(total))

    def _lstm(self, one: _Direction, given: str) -> tuple[str, str]:
        writer = self.writer
        i, o, f, g = self._parts(self._plus(given, self._from_state(one.h, one.weights)), 4)
        gate, inner, outer = one.activations
        if one.peepholes:
            i = self._plus(i, self._times(one.peepholes[0], one.c))
            f = self._plus(f, self._times(one.peepholes[2], one.c))
        i = gate(self._clipped(i))
        if writer.attribute("input_forget", 0):
            f = writer.op("Sub", writer.like(1, self.element), i)
        else:
            f = gate(self._clipped(f))
        new = writer.op("Mul", i, inner(self._clipped(g)))
        c = self._plus(new, self._times(f, one.c))
        if one.peepholes:
            o = writer.op("Add", o, writer.op("Mul", one.peepholes[1], c))
        return writer.op("Mul", gate(self._clipped(o)), outer(c)), c

    def _gru(self, one: _Direction, given: str) -> str:
        writer, size = self.writer, self.hidden
        gate, inner = one.activations
        given_z, given_r, given_own = self._parts(given, 3)
        z, r, own = "", "", ""
        if self.resets_last:
            hidden = self._from_state(one.h, one.weights)
            axis = 1 if hidden else 0
            hidden = self._plus(one.bias, hidden) if one.bias else hidden
            if hidden:
                z, r, own = self._parts(hidden, 3, axis)
        elif one.h:
            hidden = self.product(one.h, writer.slice(one.weights, 1, 0, 2 * size))
            z, r = self._parts(hidden, 2)
        z = gate(self._clipped(self._plus(given_z, z)))
        r = gate(self._clipped(self._plus(given_r, r)))
        if self.resets_last:
            own = self._times(r, own)
        else:
            last = writer.slice(one.weights, 1, 2 * size, 3 * size)
            own = self._from_state(self._times(r, one.h), last)
        new = inner(self._clipped(self._plus(given_own, own)))
        rest = writer.op("Sub", writer.like(1, self.element), z)
        return self._plus(writer.op("Mul", rest, new), self._times(z, one.h))

    def _from_state(self, h: str, weights: str) -> str:
        """Multiplies a state by weights; empty for a state of zeros."""
        return self.product(h, weights) if h else ""

    def _plus(self, x: str, y: str) -> str:
        """Adds a term that may be empty."""
        return self.writer.op("Add", x, y) if y else x

    def _times(self, x: str, y: str) -> str:
        """Multiplies by a factor; empty if the factor is empty."""
        return self.writer.op("Mul", x, y) if y else ""

    def _results(self, made: Sequence[_Direction]) -> None:
        writer = self.writer
        if writer.has_output(0):
            steps = [
                self._joined([one.outputs[step] for one in made], 0) for step in range(self.steps)
            ]
            y = self._joined(steps, 0)
            writer.result(writer.transpose(y, [2, 0, 1, 3]) if self.batch_first else y)
        axis = 1 if self.batch_first else 0
        if writer.has_output(1):
            writer.result(self._joined([one.h for one in made], axis), 1)
        if writer.has_output(2):
            writer.result(self._joined([one.c for one in made], axis), 2)

    def _joined(self, values: Sequence[str], axis: int) -> str:
        """Stacks tensors along a new dimension."""
        axes = self.writer.const([axis], "int64")
        rows = [self.writer.op("Unsqueeze", value, axes) for value in values]
        return rows[0] if len(rows) == 1 else self.writer.op("Concat", *rows, axis=axis)


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name


def _activation(
    writer: Writer, name: str, alpha: float, beta: float, element: int
) -> Callable[[str], str]:
    def affine(x: str) -> str:
        scaled = writer.op("Mul", x, writer.like(alpha, element))
        return writer.op("Add", scaled, writer.like(beta, element))

    def scaled_tanh(x: str) -> str:
        inner = writer.op("Tanh", writer.op("Mul", x, writer.like(beta, element)))
        return writer.op("Mul", inner, writer.like(alpha, element))

    if name in _PLAIN:
        return lambda x: writer.op(name, x)
    if name in ("LeakyRelu", "ThresholdedRelu", "Elu"):
        return lambda x: writer.op(name, x, alpha=alpha)
    if name == "HardSigmoid":
        return lambda x: writer.op(name, x, alpha=alpha, beta=beta)
    if name not in ("Affine", "ScaledTanh"):
        raise Refused(f"with activation '{name}' is not supported")
    return affine if name == "Affine" else scaled_tanh


def _recurrent(writer: Writer) -> None:
    Network(writer, writer.node.op_type).write()


RECURRENT: dict[str, Rewrite] = dict.fromkeys(_GATES, _recurrent)
"""The rewrites, by operator."""
