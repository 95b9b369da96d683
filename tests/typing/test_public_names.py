"""What modules say that they have: `__all__`, `dir` and ``from lucid import *``."""
from __future__ import annotations

import pytest

import lucid
from tests.docs.missing import public_names


@pytest.mark.parametrize("name", public_names.NAMESPACES)
def test_a_namespace_lists_its_names(name):
    if name == "lucid.utils.tensorboard":
        pytest.importorskip("tensorboardX")
    module = public_names.namespace(name)
    listed = module.__all__
    assert len(set(listed)) == len(listed)
    assert all(hasattr(module, each) and not each.startswith("_") for each in listed)


def test_what_is_imported_when_asked_for_is_offered():
    assert {"compile", "sparse", "autocast", "vmap"} <= set(dir(lucid)) & set(lucid.__all__)
    assert "Swish" in dir(lucid.nn) and "drop_path" in dir(lucid.nn.functional) and "checkpoint" in dir(lucid.utils)
    names: dict[str, object] = {}
    exec("from lucid import *", names)
    assert names["compile"] is lucid.compile and "serialization" not in names
