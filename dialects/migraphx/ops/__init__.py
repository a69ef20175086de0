"""The classes of migraphx ops, by family.

The rules are those of rocMLIR's `MIGraphX.td` of 2026; ops that rocMLIR has removed are included,
because existing modules contain them.
"""
