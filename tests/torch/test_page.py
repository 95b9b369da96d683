"""docs/torch.md lists the names as they are, and the tables hold each name once."""
from __future__ import annotations

from lucid.torch import inert
from lucid.torch.adapters import ADAPTERS, MODULES, OBJECTS
from lucid.torch.resolve import adapter
from tests.torch.page import PAGE, page


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.torch.page"


def test_a_name_stands_in_one_table() -> None:
    adapted = [*OBJECTS, *(f"{module}.{name}" for module in ADAPTERS for name in adapter(module).__all__ if module != "torch._custom_ops")]
    inert_names = [f"{module}.{name}" for module in inert.modules() for name in inert.of(module)]
    assert len(set(adapted)) == len(adapted)
    assert not set(adapted) & set(inert_names)
    assert not {name.rpartition(".")[0] for name in adapted} & MODULES.keys()
