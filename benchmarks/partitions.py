"""Compares partitions of random small programs with the cheapest of all partitions.

    python benchmarks/partitions.py [--programs 1000] [--most-exact 14] [--most-window 14]
        [--gpu mi300x]

`--most-exact=0` shows the heuristic that partitions regions too large for the exact search, and
`--most-window` shows how it depends on the number of ops in the windows that it repartitions.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "unit"))

from random_partitions import cheapest_by_trying, is_acyclic, is_kernel, random_program

from hipgraft.codegen.chips import GPUS
from hipgraft.transforms.partition.cost import Roofline
from hipgraft.transforms.partition.program import Role
from hipgraft.transforms.partition.regions import MOST_EXACT, Partitioner


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--most-exact", type=int, default=MOST_EXACT)
    parser.add_argument("--most-window", type=int, default=MOST_EXACT)
    parser.add_argument("--gpu", choices=GPUS, default="mi300x")
    arguments = parser.parse_args()
    cost = Roofline(GPUS[arguments.gpu])
    worst, above, total, count, seconds = 1.0, 0, 0.0, 0, 0.0
    for seed in range(arguments.programs):
        program = random_program(seed)
        start = time.perf_counter()
        partitioner = Partitioner(cost, arguments.most_exact, arguments.most_window)
        groups = partitioner.partition(program)
        seconds += time.perf_counter() - start
        assert is_acyclic(program, [list(group) for group in groups]), seed
        assert all(is_kernel(program, frozenset(group)) for group in groups), seed
        free = [op for op, facts in enumerate(program.ops) if facts.role is not Role.FIXED]
        assert sorted(op for group in groups for op in group) == free, seed
        if not groups:
            continue
        count += 1
        found = sum(cost.time(program, set(group)).seconds for group in groups)
        ratio = found / cheapest_by_trying(program, cost)
        worst, above, total = max(worst, ratio), above + (ratio > 1.05), total + ratio
    print(
        f"{arguments.programs} programs: cost {total / count:.4f} of the least, "
        f"at most {worst:.3f}, above 1.05 in {above}; "
        f"{1e3 * seconds / arguments.programs:.2f} ms each"
    )


if __name__ == "__main__":
    main()
