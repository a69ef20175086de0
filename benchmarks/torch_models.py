"""Runs tiny models with `torch.compile(backend="hipgraft")` on the CPU, and compares with PyTorch.

Each model makes a forward pass and a training step: results, gradients and buffers are compared.
Weights are random; nothing is downloaded. Needs `torch` and `transformers`:

    python benchmarks/torch_models.py [MODEL...] [--json FILE]
"""

from __future__ import annotations

import argparse
import copy
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

VOCABULARY, LENGTH, WIDTH = 99, 12, 32
_SMALL = {
    "vocab_size": VOCABULARY,
    "hidden_size": WIDTH,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 32,
}
_DECODER = {**_SMALL, "num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 0}


def _text(name: str, output: str, **config: Any) -> tuple[Any, dict[str, Any]]:
    """Returns a language model of `transformers` and its inputs, the second text shorter."""
    import torch
    import transformers

    model = getattr(transformers, name)(getattr(transformers, config.pop("config"))(**config))
    ids = torch.randint(1, VOCABULARY, (2, LENGTH))
    mask = torch.ones_like(ids)
    mask[1, LENGTH - 3 :] = 0
    return _Output(model, output), {"input_ids": ids, "attention_mask": mask}


def _bert() -> Any:
    return _text("BertModel", "last_hidden_state", config="BertConfig", **_SMALL)


def _distilbert() -> Any:
    sizes = {"vocab_size": VOCABULARY, "dim": WIDTH, "hidden_dim": 64, "n_layers": 2, "n_heads": 4}
    return _text("DistilBertModel", "last_hidden_state", config="DistilBertConfig", **sizes)


def _gpt2() -> Any:
    sizes = {"vocab_size": VOCABULARY, "n_embd": WIDTH, "n_layer": 2, "n_head": 4}
    return _text("GPT2LMHeadModel", "logits", config="GPT2Config", n_positions=32, **sizes)


def _llama() -> Any:
    return _text("LlamaForCausalLM", "logits", config="LlamaConfig", **_DECODER)


def _mistral() -> Any:
    return _text(
        "MistralForCausalLM", "logits", config="MistralConfig", sliding_window=6, **_DECODER
    )


def _qwen2() -> Any:
    return _text("Qwen2ForCausalLM", "logits", config="Qwen2Config", **_DECODER)


def _gemma() -> Any:
    return _text("GemmaForCausalLM", "logits", config="GemmaConfig", **_DECODER)


def _t5() -> Any:
    sizes = {"vocab_size": VOCABULARY, "d_model": WIDTH, "d_kv": 8, "d_ff": 64, "num_heads": 4}
    model, inputs = _text(
        "T5ForConditionalGeneration", "logits", config="T5Config", num_layers=2, **sizes
    )
    return model, {**inputs, "decoder_input_ids": inputs["input_ids"][:, :5]}


def _whisper() -> Any:
    import torch
    import transformers

    config = transformers.WhisperConfig(
        d_model=WIDTH,
        encoder_layers=2,
        encoder_attention_heads=4,
        encoder_ffn_dim=64,
        num_mel_bins=16,
        max_source_positions=20,
    )
    encoder = transformers.models.whisper.modeling_whisper.WhisperEncoder(config)
    return _Output(encoder, "last_hidden_state"), {"input_features": torch.randn(2, 16, 40)}


def _vit() -> Any:
    import torch
    import transformers

    sizes = {**_SMALL, "image_size": 16, "patch_size": 4}
    model = transformers.ViTModel(transformers.ViTConfig(**sizes))
    return _Output(model, "last_hidden_state"), {"pixel_values": torch.randn(2, 3, 16, 16)}


def _resnet() -> Any:
    sizes = {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 2]}
    return _vision("ResNet", layer_type="basic", **sizes)


def _mobilenet() -> Any:
    import torch
    from torch import nn

    def convolution(
        inputs: int, outputs: int, window: int, stride: int = 1, groups: int = 1
    ) -> Any:
        padding = window // 2
        layer = nn.Conv2d(inputs, outputs, window, stride, padding, groups=groups, bias=False)
        return nn.Sequential(layer, nn.BatchNorm2d(outputs))

    class InvertedResidual(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int):
            super().__init__()
            wide = 4 * inputs
            self.expand = convolution(inputs, wide, 1)
            self.depthwise = convolution(wide, wide, 3, stride, wide)
            self.project = convolution(wide, outputs, 1)
            self.residual = stride == 1 and inputs == outputs

        def forward(self, x: Any) -> Any:
            wide = nn.functional.relu6(self.depthwise(nn.functional.relu6(self.expand(x))))
            return self.project(wide) + x if self.residual else self.project(wide)

    blocks = [InvertedResidual(8, 8, 1), InvertedResidual(8, 16, 2)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(16, 10)]
    model = nn.Sequential(convolution(3, 8, 3, 2), nn.ReLU6(), *blocks, *head)
    return _Output(model, ""), {"x": torch.randn(2, 3, 32, 32)}


def _convnext() -> Any:
    return _vision("ConvNext", num_stages=2, hidden_sizes=[16, 32], depths=[1, 1])


def _swin() -> Any:
    sizes = {"embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4]}
    return _vision("Swin", image_size=32, patch_size=4, window_size=4, **sizes)


def _vision(name: str, **config: Any) -> Any:
    import torch
    import transformers

    model = getattr(transformers, f"{name}Model")(getattr(transformers, f"{name}Config")(**config))
    return _Output(model, "last_hidden_state"), {"pixel_values": torch.randn(2, 3, 32, 32)}


def _encoder(name: str, **config: Any) -> Any:
    sizes = {**_SMALL, **config}
    return _text(f"{name}Model", "last_hidden_state", config=f"{name}Config", **sizes)


def _decoder(name: str, **config: Any) -> Any:
    sizes = {**_DECODER, **config}
    return _text(f"{name}ForCausalLM", "logits", config=f"{name}Config", **sizes)


def _bart() -> Any:
    model, inputs = _text(
        "BartForConditionalGeneration",
        "logits",
        config="BartConfig",
        vocab_size=VOCABULARY,
        d_model=WIDTH,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=32,
    )
    return model, {**inputs, "decoder_input_ids": inputs["input_ids"][:, :5]}


def _unet() -> Any:
    from torch import nn

    class Block(nn.Sequential):
        def __init__(self, inputs: int, outputs: int):
            convolution = nn.Conv2d(inputs, outputs, 3, padding=1)
            super().__init__(convolution, nn.GroupNorm(4, outputs), nn.SiLU())

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = Block(3, 16), Block(16, 32)
            self.down = nn.MaxPool2d(2)
            self.up = nn.ConvTranspose2d(32, 16, 2, stride=2)
            self.last, self.head = Block(32, 16), nn.Conv2d(16, 4, 1)

        def forward(self, x: Any) -> Any:
            import torch

            fine = self.first(x)
            coarse = self.up(self.second(self.down(fine)))
            return self.head(self.last(torch.cat([fine, coarse], 1)))

    import torch

    return _Output(UNet(), ""), {"x": torch.randn(2, 3, 32, 32)}


class _Output:
    """A model restricted to one of its outputs."""

    def __init__(self, model: Any, output: str):
        self.model = model
        self.output = output

    def __call__(self, inputs: dict[str, Any]) -> Any:
        if not self.output:
            return self.model(*inputs.values())
        return getattr(self.model(**inputs), self.output)


MODELS: dict[str, Callable[[], Any]] = {
    "BERT": _bert,
    "DistilBERT": _distilbert,
    "GPT-2": _gpt2,
    "Llama": _llama,
    "Mistral": _mistral,
    "Qwen2": _qwen2,
    "Gemma": _gemma,
    "T5": _t5,
    "Whisper encoder": _whisper,
    "ViT": _vit,
    "ResNet": _resnet,
    "MobileNetV2": _mobilenet,
    "ConvNeXt": _convnext,
    "Swin": _swin,
    "U-Net": _unet,
    "RoBERTa": partial(_encoder, "Roberta", max_position_embeddings=40),
    "ALBERT": partial(_encoder, "Albert", embedding_size=16),
    "ELECTRA": partial(_encoder, "Electra", embedding_size=16),
    "MPNet": partial(_encoder, "MPNet", max_position_embeddings=40),
    "ModernBERT": partial(_encoder, "ModernBert", pad_token_id=0),
    "GPT-NeoX": partial(_decoder, "GPTNeoX"),
    "Phi": partial(_decoder, "Phi"),
    "Gemma 2": partial(_decoder, "Gemma2", sliding_window=6),
    "OLMo": partial(_decoder, "Olmo"),
    "BART": _bart,
    "RegNet": partial(
        _vision, "RegNet", embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], groups_width=4
    ),
    "PoolFormer": partial(
        _vision,
        "PoolFormer",
        hidden_sizes=[8, 16],
        depths=[1, 1],
        num_encoder_blocks=2,
        patch_sizes=[3, 3],
        strides=[2, 2],
        padding=[1, 1],
    ),
    "DINOv2": partial(
        _vision,
        "Dinov2",
        hidden_size=WIDTH,
        num_hidden_layers=1,
        num_attention_heads=4,
        image_size=32,
        patch_size=8,
    ),
    "BEiT": partial(
        _vision,
        "Beit",
        hidden_size=WIDTH,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=64,
        image_size=32,
        patch_size=8,
    ),
    "ConvNeXt V2": partial(
        _vision, "ConvNextV2", num_stages=2, hidden_sizes=[16, 32], depths=[1, 1]
    ),
}


def _error(ours: Any, theirs: Any) -> float:
    """Returns the largest difference, relative to the largest element; infinite if one is NaN."""
    difference = (ours - theirs).abs().max() / theirs.abs().max().clamp(min=1e-6)
    return float("inf") if difference.isnan() else float(difference)


def _step(call: Any, model: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """Makes a training step; returns its gradients and buffers by name."""
    import torch

    model.train()
    torch.manual_seed(7)
    call(inputs).float().square().mean().backward()
    gradients = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    return {**gradients, **{n: b.float() for n, b in model.named_buffers()}}


def measure(name: str) -> dict[str, Any]:
    """Runs one model, and returns its row of the table."""
    import torch
    from torch._dynamo.utils import counters

    from hipgraft.torch.kernels import COUNTS

    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    theirs, inputs = MODELS[name]()
    ours = copy.copy(theirs)
    ours.model = copy.deepcopy(theirs.model)
    call = copy.copy(ours)
    call.model = torch.compile(ours.model, backend="hipgraft")
    start = time.perf_counter()
    ours.model.eval(), theirs.model.eval()
    with torch.no_grad():
        forward = _error(call(inputs), theirs(inputs))
    gradients, expected = _step(call, ours.model, inputs), _step(theirs, theirs.model, inputs)
    seconds = time.perf_counter() - start
    scale = max(float(one.abs().max()) for one in expected.values())
    wrong = [
        key
        for key, one in expected.items()
        if not float((gradients[key] - one).abs().max())
        <= 1e-3 * float(one.abs().max()) + 1e-5 * scale
    ]
    return {
        "model": name,
        "forward": forward,
        "wrong gradients": wrong,
        "gradients": len(expected),
        "captured": counters["stats"]["unique_graphs"],
        "breaks": sum(counters["graph_break"].values()),
        "programs": COUNTS.compiled,
        "fallbacks": COUNTS.fallbacks,
        "seconds": seconds,
    }


def _print(row: dict[str, Any]) -> None:
    forward = "right" if row["forward"] < 1e-4 else "WRONG"
    total, wrong = row["gradients"], len(row["wrong gradients"])
    cells = [
        row["model"],
        f"{forward} ({row['forward']:.0e})",
        f"{total - wrong} of {total}",
        row["captured"],
        row["breaks"],
        row["programs"],
        "; ".join(dict.fromkeys(row["fallbacks"])) or "none",
        f"{row['seconds']:.0f}",
    ]
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def main() -> int:
    """Runs each model in a separate process; returns the exit status, 0 if all are right."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="*", help="by default all")
    parser.add_argument("--json", default="", help="file for the rows")
    parser.add_argument("--row", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.row:
        print(json.dumps(measure(arguments.models[0])))
        return 0
    print("| model | forward | gradients right | graphs | breaks | programs | in PyTorch | s |")
    print("| --- | --- | --- | ---: | ---: | ---: | --- | ---: |")
    rows: list[dict[str, Any]] = []
    failed = 0
    for name in arguments.models or MODELS:
        command = [sys.executable, __file__, name, "--row"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            failed += 1
            print(f"| {name} | failed: {done.stderr.strip().splitlines()[-1]} |", flush=True)
            continue
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        _print(rows[-1])
        failed += rows[-1]["forward"] >= 1e-4 or bool(rows[-1]["wrong gradients"])
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(rows, file, indent=1)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
