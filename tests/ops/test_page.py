"""docs/operations.md is what the op table gives today."""
from __future__ import annotations

from tests.ops import page


def test_page_is_up_to_date():
    assert page.PAGE.read_text(encoding="utf-8") == page.text(), "run: python -m tests.ops.page"
