"""The programs on the pages of the site run as a reader types them, block after block, and their tables are complete."""
from __future__ import annotations

import doctest
import pathlib
import re
import textwrap
from operator import attrgetter

import pytest

import lucid

ROOT = pathlib.Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: These have tests of their own, with what they need: `tests/extension/test_pages.py`, `tests/onnx`.
ELSEWHERE = {"own_kernels.md", "profiling.md", "onnx.md", "torch.md", "architecture.md"}
PAGES = sorted(page.name for page in DOCS.glob("*.md") if "```python" in page.read_text() and page.name not in ELSEWHERE)


def run(page: pathlib.Path) -> None:
    """All blocks in one scope; where a block holds a session, with the results that it shows."""
    scope: dict[str, object] = {"__name__": "page"}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        code = textwrap.dedent(block)  # one in a list is indented
        if ">>>" in code:
            examples = doctest.DocTestParser().get_doctest(code, scope, page.name, None, None)
            assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, clear_globs=False).failed == 0
            scope.update(examples.globs)
        else:
            exec(compile(code, page.name, "exec"), scope)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lucid.gpu, "is_available", lambda: False)
    run(DOCS / page)


def test_all_variables_are_listed():
    """Those that a user may set; the others are how the bench, and programs in C, learn of something."""
    inner = {"LUCID_BENCH_FAKE_CLOCK", "LUCID_DYNAMIC_SHARED_MEMORY", "LUCID_EXPORT_KERNEL", "LUCID_EXPORT_LIBRARY", "LUCID_SIMULATOR"}
    sources = [path.read_text() for folder in ("lucid", "kernels/lucid_kernels") for path in (ROOT / folder).rglob("*.py")]
    used = set(re.findall(r"\bLUCID_[A-Z_]+\b", "\n".join(sources))) - inner
    assert set(re.findall(r"^\| `(LUCID_\w+)` \|", (DOCS / "environment.md").read_text(), re.MULTILINE)) == used


def test_links_lead_somewhere():
    """But for those to what is written when the site is built."""
    written = ("reference/", "changelog.md", "contributing.md", "kernels.md")
    for page in DOCS.glob("*.md"):
        for target in re.findall(r"\]\(([\w./-]+?)(?:#[\w-]+)?\)", page.read_text()):
            if not target.startswith(written):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_lines_of_code_fit_a_page():
    """It shows 103 characters beside each other."""
    for page in DOCS.glob("*.md"):
        for block in re.findall(r"^```\w*\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
            assert max(map(len, block.splitlines())) <= 102, f"{page.name}: {block}"


def test_names_in_the_guide_lead_to_the_reference(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_extensions")
    from reference import _link_guide

    text = ["# `nn.Linear`\n`nn.functional.conv2d` and [`nn.Buffer`](buffers.md)\n```python\n`nn.Linear`\n```\n"]
    _link_guide(None, "quickstart", text)
    assert text == ["# `nn.Linear`\n[`nn.functional.conv2d`](reference/lucid.conv2d.md) and [`nn.Buffer`](buffers.md)\n"
                    "```python\n`nn.Linear`\n```\n"]


@pytest.mark.parametrize(("name", "methods"), [
    ("Tensor", ["requires_grad", "item", "share_memory_", "detach", "add_"]),
    ("nn.Module", ["state_dict", "register_forward_hook", "to", "parameters", "train"]),
])
def test_the_page_of_a_class_has_the_methods_of_all_its_files(name, methods, monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_extensions")
    from reference import _methods

    assert set(methods) <= {method for method, *_ in _methods(attrgetter(name)(lucid))}
