"""The reference: a page for every public name, written from its docstring, with its source and the tests that use it.

Docstrings of lucid are Markdown with doctest examples, so a page is put together as text; nothing is imported by Sphinx.
"""
from __future__ import annotations

import collections
import functools
import inspect
import operator
import pathlib
import re
import sys
from collections.abc import Iterable
from typing import Any, get_overloads

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "kernels"), str(ROOT / "docs")]

import public_names as names  # noqa: E402

FOLDER = ROOT / "docs" / "reference"
MOST_TESTS = 6
LINE = 96
_CODE = re.compile(r"(?<![`\[])`([A-Za-z_][\w.]*)(?:\(\))?`(?!`)")
_ADDRESS = re.compile(r"https?://[^\s()<>`]+[^\s()<>`.,;:]")
INDEX = """# Reference

Every public name, each with a page of its own: signature, what it does, source and the tests that use it.
What an operation can do on which device stands in [the table of operations](../operations.md). In the examples
`lucid`, `nn`, `F` (`lucid.nn.functional`) and `np` (numpy) are imported.

| module | what it has |
| --- | --- |
"""


def _signature(name: str, value: Any, *, bound: bool = False) -> str:
    """A call of it as Python shows it, or each of its overloads; of a class without the None that `__init__` returns, of a
    method (`bound`) without what is before the dot.
    """
    try:
        if inspect.isclass(value):
            return _call(name, inspect.signature(value).replace(return_annotation=inspect.Signature.empty))
        signatures = [inspect.signature(each) for each in get_overloads(inspect.unwrap(value)) or [value]]
        if bound:
            signatures = [each.replace(parameters=_without_first(each)) for each in signatures]
        return "\n".join(_call(name, each) for each in signatures)
    except (TypeError, ValueError, AttributeError):
        return f"{name}(...)"


def _without_first(signature: inspect.Signature) -> list[inspect.Parameter]:
    parameters = list(signature.parameters.values())
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return parameters[1:] if parameters and parameters[0].kind in positional else parameters


def _call(name: str, signature: inspect.Signature) -> str:
    """An argument a line where it is long."""
    short = _plain(f"{name}{signature}")
    if len(short) <= LINE:
        return short
    arrow = "" if signature.return_annotation is inspect.Signature.empty else f" -> {short.rpartition(' -> ')[2]}"
    return f"{name}(\n" + "".join(f"    {argument},\n" for argument in _arguments(signature)) + f"){arrow}"


def _arguments(signature: inspect.Signature) -> list[str]:
    parts: list[str] = []
    previous = None
    for parameter in signature.parameters.values():
        if previous is parameter.POSITIONAL_ONLY and parameter.kind is not parameter.POSITIONAL_ONLY:
            parts.append("/")
        if parameter.kind is parameter.KEYWORD_ONLY and previous not in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL):
            parts.append("*")
        parts.append(_plain(str(parameter)))
        previous = parameter.kind
    return parts


def _plain(text: str) -> str:
    """Annotations without quotation marks and the modules that they stand in, functions without their addresses."""
    text = re.sub(r"<(?:built-in )?function ([\w.]+)(?: at 0x[0-9a-f]+)?>", r"\1", text)
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", text).replace("lucid.tensor.", "")


def _markdown(docstring: str, links: dict[str, str]) -> str:
    """A docstring as Markdown: examples become blocks of code, names of others become links; a colon is enough before code."""
    lines: list[str] = []
    block = False
    for line in re.sub(r" +::$", "", re.sub(r"(?<=\S)::$", ":", docstring, flags=re.MULTILINE), flags=re.MULTILINE).splitlines():
        example = line.lstrip().startswith((">>>", "...")) or (block and bool(line.strip()))
        if example and not block:
            lines += ["", "```pycon"]
        if block and not example:
            lines.append("```")
        block = example
        lines.append(line.strip() if example and line.lstrip().startswith(">>>") else line)
    if block:
        lines.append("```")
    parts = re.split(r"(```pycon.*?```)", "\n".join(lines), flags=re.DOTALL)
    return "".join(part if part.startswith("```") else _ADDRESS.sub(r"<\g<0>>", _linked(part, links)) for part in parts)


def _linked(text: str, links: dict[str, str], folder: str = "") -> str:
    """Names of others as links."""
    def link(match: re.Match[str]) -> str:
        name = match[1]
        full = name if name in links else f"lucid.{name}" if "." in name else ""
        return f"[{match[0]}]({folder}{links[full]}.md)" if full in links else match[0]

    return _CODE.sub(link, text)


@functools.cache
def _links() -> dict[str, str]:
    """For each public name, the one that has a page."""
    return {name: item.name for item in names.public() for name in (item.name, *item.aliases)}


def _link_guide(app: Any, page: str, source: list[str]) -> None:
    """Names in the pages of the guide lead to the reference, those in headings, links and code aside; in the table of operations
    those of `lucid` stand without it.
    """
    if page.startswith("reference/"):
        return
    links = _links()
    if page == "operations":
        links = links | {name.removeprefix("lucid."): target for name, target in links.items() if name.count(".") == 1}
    parts = re.split(r"(^ *```.*?^ *```|^#.*?$)", source[0], flags=re.DOTALL | re.MULTILINE)
    source[0] = "".join(part if part.lstrip().startswith(("```", "#")) else _linked(part, links, "reference/") for part in parts)


@functools.cache
def _uses(pattern: str) -> dict[str, collections.Counter[str]]:
    """For each word of a pattern in the tests and their table of operations, how often each file has it."""
    words: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for path in [*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "tests" / "ops" / "table").glob("*.py")]:
        file = path.relative_to(ROOT).as_posix()
        for word in re.findall(pattern, path.read_text(encoding="utf-8")):
            words[word][file] += 1
    return words


def _tests(item: names.Public) -> list[str]:
    """The test files that name it most often: after a dot or a quotation mark, or anywhere, or what it does without writing its
    input; else the one that runs its example.
    """
    name = item.name.rpartition(".")[2]
    attribute, word = r"""[.'"]([A-Za-z_]\w+)""", r"\b([A-Za-z_]\w{4,})"
    for pattern, text in ((attribute, name), (word, name), (attribute, name.rstrip("_"))):
        found = _uses(pattern).get(text)
        if found:
            return [file for file, _ in found.most_common(MOST_TESTS)]
    return ["tests/docs/test_examples.py"] if ">>>" in (inspect.getdoc(item.value) or "") else []


def _source(value: Any) -> tuple[str, str]:
    """Where it stands, or its class does, and the text; empty where Python has none."""
    value = inspect.unwrap(value)
    for found in (value, type(value)):
        try:
            lines, first = inspect.getsourcelines(found)
            path = pathlib.Path(inspect.getsourcefile(found) or "").relative_to(ROOT).as_posix()
        except (OSError, TypeError, ValueError):
            continue
        return f"{path}:{max(first, 1)}", "".join(lines)
    return "", ""


def _fenced(text: str, language: str) -> str:
    return f"````{language}\n{text.rstrip()}\n````\n"


@functools.cache
def _bases() -> frozenset[type]:
    return frozenset(item.value for item in names.public() if item.kind == "class")


def _part_of(base: type, value: type) -> bool:
    """Whether a class has its methods from `base` because its own are in several files, or in private classes."""
    package = base.__module__.rpartition(".")[0]
    return base.__module__.startswith("lucid") and (
        base.__name__.startswith("_") or package in (value.__module__, value.__module__.rpartition(".")[0]))


def _methods(value: type) -> Iterable[tuple[str, Any, bool]]:
    """The public methods and properties that a class has beside those of `nn.Module`, `Optimizer` and others with a page, and
    whether they get the object or its class as first argument.
    """
    inherited = {name for base in value.__mro__[1:] if base in _bases() for name in dir(base)}
    for name, _ in inspect.getmembers(value):
        if name.startswith("_") or (name in inherited and name not in vars(value) and name != "forward"):
            continue
        owner = next((base for base in value.__mro__ if name in vars(base)), None)
        if owner is None or not (owner is value or _part_of(owner, value)):
            continue
        found = inspect.getattr_static(value, name)
        bound = not isinstance(found, staticmethod)
        if isinstance(found, (staticmethod, classmethod)):
            found = found.__func__
        if isinstance(found, property) or callable(found):
            yield name, found, bound


def _members(item: names.Public, links: dict[str, str], documented: dict[tuple[str, str], str]) -> str:
    parts = []
    for name, found, bound in _methods(item.value):
        call = "" if isinstance(found, property) else _fenced(_signature(name, names.plain(found), bound=bound), "python")
        docstring = inspect.getdoc(found) or ""
        other = documented.get((name, docstring))
        text = f"The function [`{other}`]({other}.md) as a method." if other else _markdown(docstring, links)
        parts.append(f"### {name}\n\n{call}\n{text}\n")
    return "\n## Methods and properties\n\n" + "\n".join(parts) if parts else ""


def page(item: names.Public, links: dict[str, str], documented: dict[tuple[str, str], str]) -> str:
    """The text of the page of a public name."""
    place, source = _source(item.value)
    short = item.name.removeprefix("lucid.") if item.name.count(".") > 1 else item.name
    parts = [f"---\norphan: true\n---\n# {item.name}\n",
             f"[Reference](index.md) / [{item.namespace}](namespace-{item.namespace}.md)\n",
             _fenced(_signature(short, item.value), "python"), _markdown(inspect.getdoc(item.value) or "", links), ""]
    if item.aliases:
        parts.append("Also " + ", ".join(f"`{alias}`" for alias in item.aliases) + ".\n")
    if item.kind == "class":
        parts.append(_members(item, links, documented))
    tests = _tests(item)
    if tests:
        parts.append("**Tests** that use it: " + ", ".join(f"`{file}`" for file in tests) + "\n")
    if source:
        parts.append(f":::{{dropdown}} Source: {place}\n{_fenced(source, 'python')}:::\n")
    return "\n".join(parts)


def write(folder: pathlib.Path = FOLDER) -> int:
    """Write all pages, those that have changed, and the index; return how many there are.

    No table of contents has the pages of names: the theme shows it on each page, so that the time of a build would grow with
    the square of their number. The page of a namespace links to them.
    """
    folder.mkdir(exist_ok=True)
    items = list(names.public())
    links = _links()
    documented = {(name.rpartition(".")[2], inspect.getdoc(item.value) or ""): item.name
                  for item in items if item.kind == "function" for name in (item.name, *item.aliases)}
    texts = {f"{item.name}.md": page(item, links, documented) for item in items}
    spaces: dict[str, list[tuple[str, names.Public]]] = collections.defaultdict(list)
    for item in items:
        for name in (item.name, *item.aliases):
            spaces[name.rpartition(".")[0]].append((name, item))
    index = ""
    used = [space for space in names.NAMESPACES if space in spaces]  # not those whose package is not installed
    for space in used:
        summary = _summary(names.namespace(space)) if space != "lucid" else "Tensors, and operations on them."
        tables = [f"| name | what it is |\n| --- | --- |\n{rows}" for kind in ("class", "function") if (rows := "".join(
            f"| [`{name.rpartition('.')[2]}`]({item.name}.md) | {_summary(item.value)} |\n"
            for name, item in sorted(spaces[space], key=operator.itemgetter(0)) if item.kind == kind))]
        heads = ["## Classes\n\n", "## Functions\n\n"] if len(tables) == 2 else [""]
        texts[f"namespace-{space}.md"] = f"# {space}\n\n{summary}\n\n" + "\n".join(map(operator.add, heads, tables))
        index += f"| [{space}](namespace-{space}.md) | {summary} |\n"
    texts["index.md"] = f"{INDEX}{index}\n```{{toctree}}\n:titlesonly:\n:hidden:\n\n" + "\n".join(
        f"namespace-{space}" for space in used) + "\n```\n"
    for old in folder.glob("*.md"):
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return len(items)


def _summary(value: Any) -> str:
    """The first sentence of its docstring, for a table."""
    text = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
    return _ADDRESS.sub(r"<\g<0>>", re.split(r"(?<=[^.]\.) (?=[A-Z`'(])", text)[0].replace("|", "\\|"))


def _shared_navigation() -> Any:
    """A listener that gives the pages of names, which no table of contents has, the navigation of the page of their namespace:
    made once for all of them, as it took two thirds of the time of a build.
    """
    kept: dict[str, str] = {}

    def share(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
        if page.startswith(("reference/lucid", "reference/namespace")):
            own = page.removeprefix("reference/")
            space = own if own.startswith("namespace") else f"namespace-{own.rpartition('.')[0]}"

            def navigation(**options: Any) -> str:
                key = f"{space} {options}"
                if key not in kept:
                    kept[key] = app.builder._get_local_toctree(f"reference/{space}", **options)
                return kept[key] if own == space else kept[key].replace('href="#"', f'href="{space}.html"')

            context["toctree"] = navigation

    return share


def setup(app: Any) -> dict[str, Any]:
    """Write the pages before Sphinx looks for them."""
    app.connect("config-inited", lambda *_: write())
    app.connect("source-read", _link_guide)
    app.connect("html-page-context", _shared_navigation(), priority=100)  # before the theme
    return {"parallel_read_safe": True, "parallel_write_safe": True}
