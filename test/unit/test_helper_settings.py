"""Settings as requests name them."""

from __future__ import annotations

import pytest

from hipgraft.helper.settings import Settings
from hipgraft.ir.diagnostics import HipgraftError


def test_settings_of_a_target() -> None:
    assert Settings.parse("gfx942") == Settings("gfx942")
    named = Settings.parse("gfx950;search=full;plan=hipdnn.sdpa=padded;overrides=24")
    assert named == Settings("gfx950", "full", "hipdnn.sdpa=padded", overrides=24)


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("gfx942;search=most", "'search' is 'most': expected none, default, full"),
        ("gfx942;colour=red", "unknown setting 'colour': expected search, plan, cost_model"),
        ("gfx942;overrides=-1", "'overrides' is '-1': expected a number of bytes"),
        ("gfx942;overrides=²", "'overrides' is '²': expected a number of bytes"),
    ],
)
def test_what_is_not_a_setting(target: str, reason: str) -> None:
    with pytest.raises(HipgraftError, match=reason):
        Settings.parse(target)
