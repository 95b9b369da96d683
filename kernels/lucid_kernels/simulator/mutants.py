"""Bugs of well-known kinds, planted everywhere in a CUDA source: the sites are found in its text, no list is kept.

| kind | the bug |
| --- | --- |
| barrier | a `__syncthreads`, `__syncwarp`, `bar.sync` or wait for asynchronous copies is missing |
| atomic | an atomic operation is a plain read and write |
| shared | a value is not written to shared memory: not initialised, or not there where it is read |
| index | an index is one too small, or one too large |
| bounds | a condition that guards a statement is always true, or a return for what lies outside is missing |

The text is that of a `.cu` file with its headers in it (`source.load`). Comments, strings and what only a GPU compiles are
passed over, and so is what no kernel reaches.
"""

from __future__ import annotations

import bisect
import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator

KINDS = ("barrier", "atomic", "shared", "index", "bounds")

_LINE_MARK = re.compile(r'^#line (\d+) "([^"]+)"$', re.M)
_HIDDEN = re.compile(r"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.M | re.S)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(ifdef|ifndef|if|else|endif)\b[ \t]*(.*)$", re.M)
_FUNCTION = re.compile(
    r"\b(?:__global__|__device__)\b[^;{}()=]*(?:__launch_bounds__\s*\([^)]*\))?[^;{}()=]*?\b(?P<name>\w+)\s*\("
)
_WORD = re.compile(r"\w+")
_BARRIER = re.compile(
    r"\b(?:__syncthreads|__syncwarp|__pipeline_wait_prior|cp_async_wait\w*|__threadfence\w*|named_barrier\w*)\s*\(",
)
_ATOMIC = re.compile(r"\batomic(Add|Sub|Min|Max|And|Or|Xor|Exch|CAS)\s*\(")
_PLAIN: dict[str, Callable[..., str]] = {
    "Add": lambda p, v: f"(*({p}) += ({v}))",
    "Sub": lambda p, v: f"(*({p}) -= ({v}))",
    "Min": lambda p, v: f"(*({p}) = *({p}) < ({v}) ? *({p}) : ({v}))",
    "Max": lambda p, v: f"(*({p}) = *({p}) > ({v}) ? *({p}) : ({v}))",
    "And": lambda p, v: f"(*({p}) &= ({v}))",
    "Or": lambda p, v: f"(*({p}) |= ({v}))",
    "Xor": lambda p, v: f"(*({p}) ^= ({v}))",
    "Exch": lambda p, v: f"(*({p}) = ({v}))",
    "CAS": lambda p, old, new: f"(*({p}) == ({old}) ? (*({p}) = ({new}), ({old})) : *({p}))",
}
_SHARED_DECLARATION = re.compile(r"__shared__([^;]*);")
_DECLARED = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)+")
_SUBSCRIPT = re.compile(r"\b\w+\s*\[")
_GUARD = re.compile(r"\bif\s*\(")


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One bug: what stands at [start, stop) of the text becomes `replacement`.

    kernels: the names of the kernels that reach the place, without template arguments.
    """

    kind: str
    file: str
    line: int
    start: int
    stop: int
    replacement: str
    kernels: frozenset[str]
    label: str

    def plant(self, text: str) -> str:
        """The text with the bug."""
        return text[: self.start] + self.replacement + text[self.stop :]


@dataclasses.dataclass(frozen=True)
class _Function:
    name: str
    is_kernel: bool
    start: int
    stop: int


def find(text: str, kinds: Iterable[str] = KINDS) -> list[Mutant]:
    """All bugs of these kinds that can be planted in `text`, in its order."""
    code = visible(text)
    functions = list(_functions(code))
    reached = _reached(code, functions)
    marks = [(mark.end() + 1, int(mark[1]), mark[2]) for mark in _LINE_MARK.finditer(text)]
    starts = [start for start, _, _ in marks]
    found = []
    for kind in kinds:
        for start, stop, replacement, label in _PLACES[kind](code):
            function = _around(functions, start)
            if function is None or not reached[function.name]:
                continue
            mark, first, file = marks[bisect.bisect(starts, start) - 1]
            line = first + text.count("\n", mark, start)
            found.append(Mutant(kind, file, line, start, stop, replacement, reached[function.name], label))
    return sorted(found, key=lambda mutant: mutant.start)


# ----------------------------------------------------------------------------------------------------- reading the text
def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def visible(text: str) -> str:
    """`text` with blanks, which keep the positions, for comments, strings, directives and what only a GPU compiles."""
    text = _without_gpu_branches(text)
    return _STRING.sub(lambda match: f'"{" " * (len(match[0]) - 2)}"', _HIDDEN.sub(_blank, text))


def _without_gpu_branches(text: str) -> str:
    pieces, position = [], 0
    branches: list[tuple[bool, bool]] = []  # for each #if that is open: whether this branch, and its #else, are a GPU's
    for directive in _CONDITIONAL.finditer(text):
        piece = text[position : directive.start()]
        pieces.append(re.sub(r"[^\n]", " ", piece) if any(hidden for hidden, _ in branches) else piece)
        position = directive.start()
        word, names_simulator = directive[1], directive[2].strip() == "LUCID_SIMULATOR"
        if word == "endif":
            branches.pop()
        elif word == "else":
            branches[-1] = branches[-1][::-1]
        else:
            branches.append((word == "ifndef" and names_simulator, word == "ifdef" and names_simulator))
    return "".join([*pieces, text[position:]])


def _closing(code: str, opening: int) -> int:
    """The place behind the bracket that closes the one at `opening`."""
    pairs = {"(": ")", "[": "]", "{": "}"}
    depth, left, right = 0, code[opening], pairs[code[opening]]
    for position in range(opening, len(code)):
        depth += (code[position] == left) - (code[position] == right)
        if depth == 0:
            return position + 1
    return len(code)


def _functions(code: str) -> Iterator[_Function]:
    for match in _FUNCTION.finditer(code):
        name = match["name"]
        if name == "__launch_bounds__":
            following = re.compile(r"\s*(\w+)\s*\(").match(code, _closing(code, match.end() - 1))
            if following is None:
                continue
            name, parameters = following[1], following.end() - 1
        else:
            parameters = match.end() - 1
        body = re.compile(r"[^;{}]*\{").match(code, _closing(code, parameters))
        if body is not None:
            yield _Function(name, "__global__" in match[0], match.start(), _closing(code, body.end() - 1))


def _around(functions: list[_Function], place: int) -> _Function | None:
    return next((function for function in functions if function.start <= place < function.stop), None)


def _reached(code: str, functions: list[_Function]) -> dict[str, frozenset[str]]:
    """For each function, by name, the kernels whose text names it, or a function that does."""
    words: dict[str, set[str]] = {}
    for function in functions:
        words.setdefault(function.name, set()).update(_WORD.findall(code, function.start, function.stop))
    kernels = {function.name for function in functions if function.is_kernel}
    result: dict[str, set[str]] = {name: set() for name in words}
    for kernel in kernels:
        pending, seen = [kernel], set()
        while pending:
            name = pending.pop()
            if name not in seen:
                seen.add(name)
                result[name].add(kernel)
                pending += words[name] & words.keys()
    for name in result:  # a function object: who calls it names its class
        if name == "operator":
            result[name] = set(kernels)
    return {name: frozenset(found) for name, found in result.items()}


def _split(arguments: str) -> list[str]:
    """Arguments, parted at the commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(arguments):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append(arguments[start:position])
            start = position + 1
    return [part.strip() for part in (*parts, arguments[start:])]


# ----------------------------------------------------------------------------------------------------- the kinds
Place = tuple[int, int, str, str]


def _barriers(code: str) -> Iterator[Place]:
    for match in _BARRIER.finditer(code):
        stop = _closing(code, match.end() - 1)
        if code[stop : stop + 1] == ";" and code[: match.start()].rstrip()[-1:] in (";", "{", "}", ")", ""):
            yield match.start(), stop, "", f"without {code[match.start() : stop]}"
    for match in re.finditer(r"\basm\s+volatile\s*\(", code):  # of what the simulator compiles
        stop = _closing(code, match.end() - 1)
        yield match.start(), stop, "", "without an instruction"


def _atomics(code: str) -> Iterator[Place]:
    for match in _ATOMIC.finditer(code):
        stop = _closing(code, match.end() - 1)
        arguments = _split(code[match.end() : stop - 1])
        yield match.start(), stop, _PLAIN[match[1]](*arguments), f"a plain atomic{match[1]}"


def _shared_names(code: str) -> dict[str, set[str]]:
    """For each function, by name, what shared memory is called in it: its own arrays, and parameters that get one."""
    functions = list(_functions(code))
    names: dict[str, set[str]] = {function.name: set() for function in functions}
    for declaration in _SHARED_DECLARATION.finditer(code):
        function = _around(functions, declaration.start())
        if function is not None:
            names[function.name].update(_DECLARED.findall(re.sub(r"__align__\s*\([^)]*\)", "", declaration[1])))
    parameters: dict[str, list[list[str]]] = {}
    for function in functions:
        parameters.setdefault(function.name, []).append(_parameters(code, function))
    calls = [(caller, callee, arguments) for caller in functions for callee, arguments in _calls(code, caller, parameters)]
    known = -1
    while known != (known := sum(map(len, names.values()))):  # until a round finds nothing new
        for caller, callee, arguments in calls:
            for overload in parameters[callee]:
                passed = zip(overload, arguments, strict=False)
                names[callee].update(parameter for parameter, argument in passed if argument in names[caller.name])
    return names


def _parameters(code: str, function: _Function) -> list[str]:
    opening = code.index("(", code.index(function.name, function.start) + len(function.name) - 1)
    parameters = _split(code[opening + 1 : _closing(code, opening) - 1])
    return [(_WORD.findall(re.sub(r"\[.*", "", parameter)) or [""])[-1] for parameter in parameters]


def _calls(code: str, caller: _Function, callees: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    pattern = re.compile(rf"\b({'|'.join(sorted(callees))})\s*(?:<[^;(){{}}]*>)?\s*\(")
    for match in pattern.finditer(code, code.index("{", caller.start), caller.stop):
        yield match[1], _split(code[match.end() : _closing(code, match.end() - 1) - 1])


def _shared_writes(code: str) -> Iterator[Place]:
    functions = list(_functions(code))
    shared = _shared_names(code)
    for function in functions:
        names = shared[function.name]
        if not names:
            continue
        target = re.compile(rf"\b(?:{'|'.join(sorted(names))})\s*(?=\[)")
        for match in target.finditer(code, function.start, function.stop):
            stop = match.end()
            while code[stop : stop + 1] == "[":
                stop = _closing(code, stop)
            if re.compile(r"\s*[-+*/|&^]?=(?!=)").match(code, stop):
                yield match.start(), code.index(";", stop), "", f"{code[match.start() : stop]} is not written"


def _indices(code: str) -> Iterator[Place]:
    for match in _SUBSCRIPT.finditer(code):
        before = code[max(code.rfind(character, 0, match.start()) for character in ";{}") + 1 : match.start()]
        stop = _closing(code, match.end() - 1) - 1
        inside = code[match.end() : stop].strip()
        if not inside or _is_declaration(before) or match[0].startswith("operator"):
            continue
        for shift in ("- 1", "+ 1"):
            yield match.end(), stop, f"({inside}) {shift}", f"{code[match.start() : stop]} {shift}]"


_TYPE = re.compile(r"\s*(?:(?:static|const|constexpr)\s+)*(?!return\b)[\w:<>]+(?:\s+|\s*[^=;(]*,\s*)")


def _is_declaration(before: str) -> bool:
    """Whether `name[...]`, behind `before` in its statement, declares an array: a type stands there, and no operator."""
    return "__shared__" in before or _TYPE.fullmatch(before) is not None


def _bounds(code: str) -> Iterator[Place]:
    for match in _GUARD.finditer(code):
        stop = _closing(code, match.end() - 1)
        condition = code[match.end() : stop - 1]
        if not re.search(r"[<>]=?", re.sub(r"<<|>>|->|\w+<[^<>()]*>\s*\(", "", condition)):
            continue
        leaving = re.compile(r"\s*(?:return|continue|break)\s*;").match(code, stop)
        truth = "false" if leaving else "true"
        yield match.end(), stop - 1, truth, f"without the test {' '.join(condition.split())}"


_PLACES: dict[str, Callable[[str], Iterator[Place]]] = {
    "barrier": _barriers,
    "atomic": _atomics,
    "shared": _shared_writes,
    "index": _indices,
    "bounds": _bounds,
}
