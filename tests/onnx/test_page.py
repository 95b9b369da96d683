"""docs/onnx.md says what is exported."""
from __future__ import annotations

from . import page


def test_the_page_is_current() -> None:
    assert page.PAGE.read_text() == page.page(), "docs/onnx.md is old: python -m tests.onnx.page"
