"""The package is imported when it is asked for, by either way, and families have modules under PyTorch's names."""
from __future__ import annotations

import pytest

from tests.test_import import run


def test_import_of_lucid_does_not_import_distributions():
    assert run("import sys, lucid; print(any('distributions' in name for name in sys.modules))") == "False"


def test_the_attribute_imports_it():
    assert run("import lucid; print(lucid.distributions.Normal(0.0, 1.0)); from lucid.distributions.half_normal import HalfNormal") \
        == "Normal(loc: 0.0, scale: 1.0)"
    assert run("import sys, lucid.distributions; print('numba' in sys.modules)") == "False"


def test_other_attributes_are_still_missing():
    import lucid

    with pytest.raises(AttributeError):
        lucid.distribution_of_wealth  # noqa: B018
