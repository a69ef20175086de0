"""Lists the environment variables that hipgraft reads."""

from __future__ import annotations

import os

VARIABLES = {
    "HIPGRAFT_CACHE_DIR": "folder of compiled kernels and programs; by default `hipgraft` in "
    "`$XDG_CACHE_HOME` or `~/.cache`",
    "HIPGRAFT_CPU": "processor for which the target `cpu` is compiled, as LLVM names it; by "
    "default the machine's own",
    "HIPGRAFT_EMULATE": "folder with settings of the emulated HIP runtime, which "
    "`hipgraft-emulate` sets",
    "HIPGRAFT_LIBAMDHIP64": "HIP's runtime library, for `--device=hip`; by default "
    "`libamdhip64.so` where the loader finds it",
    "HIPGRAFT_LLVM_OBJDUMP": "LLVM's disassembler, for the emulator; by default `llvm-objdump` "
    "of a known version on `PATH`",
    "HIPGRAFT_ORT_DEVICE": "only GPU that ONNX Runtime's provider offers, as `cuda:0`; by default "
    "all of HIP's",
    "HIPGRAFT_PLUGIN_DEVICE": "device of hipDNN's plugin, as `cuda:0` where graphs are tried on an "
    "NVIDIA GPU; by default HIP's current one",
    "HIPGRAFT_PLUGIN_PROGRAMS": "how many programs for other shapes an execution context of "
    "hipDNN's plugin keeps loaded; 64 by default",
    "HIPGRAFT_SERVE": "path of `hipgraft-serve`, for hipDNN's plugin; `off` to use compiled graphs "
    "only; by default beside the plugin's package, or on `PATH`",
    "HIPGRAFT_SERVE_SECONDS": "seconds after which `hipgraft-serve` gives up compiling a graph of "
    "hipDNN; 120 by default",
    "HIPGRAFT_VIRTUAL_GPUS": "architectures of the virtual GPUs that ONNX Runtime's provider "
    "offers, separated by commas",
}
"""Descriptions of the variables, by name."""


def variable(name: str) -> str:
    """Returns the value of one of `VARIABLES`, or an empty text."""
    if name not in VARIABLES:
        raise KeyError(name)
    return os.environ.get(name, "")
