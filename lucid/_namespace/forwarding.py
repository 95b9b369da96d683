"""Keywords beside a function's own, in one Python frame for the calls that do not use them.

A wrapper that takes ``*args, **keywords`` builds a tuple and a dict for each call, and two of them would stand before many
functions. One that has the parameters of the function itself takes half of the time. Such wrappers are copies of a few
templates, as compiling one for each function would take long at import.
"""
from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from .foreign import answer, defers, is_inside

Function = Callable[..., Any]
_MISSING: Any = object()
_VARIADIC = 0x04 | 0x08  # of `co_flags`: *args, **keywords


def forwarding(plain: Function, general: Function, out: bool, others: bool, write: Callable[[], Function | None] | None = None
               ) -> Function:
    """A function that calls `plain` with the arguments of that, and `general` when it gets `out` (if it takes that) or other
    keywords (if it takes `others`), or when arguments are missing.

    With `out` and no other keywords what `write()`, asked once, returns is tried before `general`: called with `out` and all
    arguments of `plain`, it says whether it has written the result. Where `plain` takes any number of arguments, it is called if
    there are no keywords.
    """
    code = plain.__code__
    count, named = code.co_argcount, code.co_kwonlyargcount
    if code.co_flags & _VARIADIC or code.co_posonlyargcount or not count:
        return _variadic(plain, general)
    names = code.co_varnames[:count + named]
    defaults, keyword_defaults = plain.__defaults__ or (), dict(plain.__kwdefaults__ or {})
    required = count - len(defaults)
    if len(keyword_defaults) < named:
        return general
    usual = [*[_MISSING] * required, *defaults, *[keyword_defaults[name] for name in names[count:]]]

    def rest(values: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """What was given, to `general`: the others keep their defaults."""
        # With `out` alone none has another name.
        by_place = len(keywords) == 1 and "out" in keywords and not (required and values[required - 1] is _MISSING)
        return general(*_given(values, usual, names, count, by_place, keywords), **keywords)

    def first(*arguments: Any) -> bool:
        """The first call of what `write` returns."""
        known["into"] = found = write() or _never  # type: ignore[misc]
        return bool(found(*arguments))

    def again(values: tuple[Any, ...]) -> Any:
        """The answer of a class whose object was refused, with any error; NotImplemented where there is none."""
        if is_inside(sys._getframe(2)):
            return NotImplemented
        keywords: dict[str, Any] = {}
        return answer(made, _given(values, usual, names, count, False, keywords), keywords)

    known = {"__name__": __name__, "plain": plain, "rest": rest, "again": again, "MISSING": _MISSING, "into": first}
    template = _template(count, named, required, out, others, write is not None)
    made = FunctionType(renamed(template, plain.__name__, names), known, plain.__name__, tuple(usual[:count]))
    made.__kwdefaults__ = {**keyword_defaults, **({"out": None} if out else {})}
    return made


_OPERANDS = ("other", "exponent", "min", "max", "value", "operands", "args")  # that may be tensors, whatever their annotation


def takes_tensors(function: Function, after: int = 0) -> bool:
    """Whether parameters of `function`, `after` so many, may be tensors."""
    plain = inspect.unwrap(function)
    annotations, count = plain.__annotations__, plain.__code__.co_argcount
    names = [name for name in annotations if name != "return" and name not in plain.__code__.co_varnames[:min(after, count)]]
    return any("Tensor" in str(annotations[name]) or name in _OPERANDS for name in names)


def deferring(function: Function, name: str | None = None) -> Function:
    """`function` with a frame that asks the classes of objects that it refuses, unless it asks them already, by this `name`."""
    if "again" in function.__globals__ or (getattr(function, "defers", False) and name in (None, function.__name__)):
        return function
    code = function.__code__
    named = code.co_kwonlyargcount == len(function.__kwdefaults__ or ())
    made: Any = functools.wraps(function)(
        forwarding(function, function, False, False) if named else _variadic(function, function))
    made.asks_for = function
    return made


def _variadic(plain: Function, general: Function) -> Function:
    """`forwarding` and `deferring` for any number of arguments: `plain`, or with keywords `general`."""
    def forwarded(*args: Any, **keywords: Any) -> Any:
        try:
            return general(*args, **keywords) if keywords else plain(*args)
        except Exception:
            found = NotImplemented if is_inside(sys._getframe(1)) else answer(forwarded, args, keywords)
            if found is NotImplemented:
                raise
            return found

    return defers(forwarded)


def renamed(template: CodeType, function: str, names: tuple[str, ...]) -> CodeType:
    """The code of a template with the names of a function and of its parameters."""
    numbered = {f"_{number}": name for number, name in enumerate(names)}
    constants = tuple([tuple([numbered.get(name, name) for name in constant]) if constant.__class__ is tuple else
                       numbered.get(constant, constant) if constant.__class__ is str else constant
                       for constant in template.co_consts])
    variables = tuple([numbered.get(name, name) for name in template.co_varnames])
    return template.replace(co_name=function, co_qualname=function, co_varnames=variables, co_consts=constants)


def writing(plain: Function, general: Function, write: Function) -> Function:
    """A method with the arguments of `plain` that tries ``write(self, *arguments)`` and returns `self` if that has written the
    result; else what `general` returns for what was given.
    """
    code = plain.__code__
    count, named = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames[:count + named]
    defaults, keyword_defaults = plain.__defaults__ or (), plain.__kwdefaults__ or {}
    usual = [*[_MISSING] * (count - len(defaults)), *defaults, *[keyword_defaults[name] for name in names[count:]]]

    def rest(values: tuple[Any, ...], more: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        return general(*_given(values, usual, names, count, bool(more), keywords), *more, **keywords)

    known = {"__name__": __name__, "write": write, "rest": rest}
    template = renamed(_writing_template(count, named), plain.__name__, names)
    made = FunctionType(template, known, plain.__name__, tuple(usual[:count]))
    made.__kwdefaults__ = dict(keyword_defaults)
    return made


def _given(values: tuple[Any, ...], usual: list[Any], names: tuple[str, ...], count: int, by_place: bool,
           keywords: dict[str, Any]) -> tuple[Any, ...]:
    """Those of `values` to pass by position: the first `count` if `by_place`, else as far as they are not the `usual` ones.
    Others that are not become `keywords`.
    """
    positional = count if by_place else next((place for place in range(count) if values[place] is usual[place]), count)
    for place in range(positional, len(values)):
        if values[place] is not usual[place]:
            keywords[names[place]] = values[place]
    return values[:positional]


def _never(*arguments: Any) -> bool:
    return False


@functools.cache
def _writing_template(count: int, named: int) -> CodeType:
    names = [f"_{number}" for number in range(count + named)]
    parameters = [*names[:count], "*more", *names[count:], "**others"]
    given = ", ".join(names)
    module = compile(f"""def function({', '.join(parameters)}):
    if not others and not more and write({names[0]}, {given}):
        return {names[0]}
    return rest(({given},), more, others)
""", __file__, "exec")
    return next(constant for constant in module.co_consts if isinstance(constant, CodeType))


@functools.cache
def _template(count: int, named: int, required: int, out: bool, others: bool, writes: bool) -> CodeType:
    names = [f"_{number}" for number in range(count + named)]
    parameters = [*names[:count], *(["*"] if named or out else []), *names[count:], *(["out"] if out else []),
                  *(["**others"] if others else [])]
    unusual = [*(["out is not None"] if out else []), *(["others"] if others else []),
               *([f"_{required - 1} is MISSING"] if required else [])]
    given = "{}" if not (out or others) else "others" if others else "{'out': out}"
    lines = [f"def function({', '.join(parameters)}):", f"    if {' or '.join(unusual) or 'False'}:"]
    if writes:
        lines += [f"        if out is not None and {'not others and ' if others else ''}into(out, {', '.join(names)}):",
                  "            return out"]
    if out and others:
        lines += ["        if out is not None:", "            others['out'] = out"]
    elif out:
        given = "{} if out is None else {'out': out}"
    lines += [f"        return rest(({', '.join(names)},), {given})", "    try:",
              f"        return plain({', '.join([*names[:count], *[f'{name}={name}' for name in names[count:]]])})",
              "    except Exception:",
              f"        found = again(({', '.join(names)},))",
              "        if found is NotImplemented:", "            raise", "        return found"]
    module = compile("\n".join(lines), __file__, "exec")
    return next(constant for constant in module.co_consts if isinstance(constant, CodeType))
