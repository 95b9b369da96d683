"""Addresses outside of the site: well-formed, and each in one spelling. `-b linkcheck` of Sphinx asks whether they answer."""
from __future__ import annotations

import ast
import collections
import pathlib
import re
from urllib.parse import urlsplit

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "kernels" / "README.md", ROOT / "CITATION.cff"]


def docstrings(path: pathlib.Path) -> str:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return "\n".join(ast.get_docstring(node) or "" for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                     if isinstance(node, documented))


def addresses() -> dict[str, set[str]]:
    """Each address, and the files that have it."""
    texts = {page: page.read_text(encoding="utf-8") for page in PAGES}
    for folder in ("lucid", "kernels", "examples"):
        texts |= {path: docstrings(path) for path in (ROOT / folder).rglob("*.py") if "://" in path.read_text(encoding="utf-8")}
    found = collections.defaultdict(set)
    for path, text in texts.items():
        for address in re.findall(r"\b(?:https?|ftp)://[^\s<>`|\"')\]]+", text):
            found[address.rstrip(".,;:")].add(path.relative_to(ROOT).as_posix())
    return found


def test_they_are_well_formed():
    wrong = {}
    for address, files in addresses().items():
        parts = urlsplit(address)
        host = re.fullmatch(r"([a-z0-9-]+\.)+[a-z]{2,}", parts.netloc)
        if parts.scheme != "https" or not host or not parts.path or "//" in parts.path or not re.fullmatch(r"[\w./#?=&%~+-]+", address[8:]):
            wrong[address] = files
    assert not wrong


def test_each_has_one_spelling():
    spellings = collections.defaultdict(set)
    for address in addresses():
        parts = urlsplit(address.lower())
        path = re.sub(r"/(index\.html)?$", "", parts.path)
        spellings[parts.netloc.removeprefix("www."), path, parts.fragment].add(address)
    assert not [each for each in spellings.values() if len(each) > 1]
