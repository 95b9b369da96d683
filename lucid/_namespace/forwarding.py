"""Keywords beside a function's own, in one Python frame for the calls that do not use them.

A wrapper that takes ``*args, **keywords`` builds a tuple and a dict for each call, and two of them would stand before many
functions. One that has the parameters of the function itself takes half of the time. Such wrappers are copies of a few
templates, as compiling one for each function would take long at import.
"""
from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from .foreign import refused

Function = Callable[..., Any]
_MISSING: Any = object()
_VARIADIC = 0x04 | 0x08  # of `co_flags`: *args, **keywords


def forwarding(plain: Function, general: Function, out: bool, others: bool) -> Function:
    """A function that calls `plain` with the arguments of that, and `general` when it gets `out` (if it takes that) or other
    keywords (if it takes `others`), or when arguments are missing.

    `general` itself if `plain` takes any number of arguments.
    """
    code = plain.__code__
    count, named = code.co_argcount, code.co_kwonlyargcount
    if code.co_flags & _VARIADIC or code.co_posonlyargcount or not count:
        return general
    names = code.co_varnames[:count + named]
    defaults, keyword_defaults = plain.__defaults__ or (), dict(plain.__kwdefaults__ or {})
    required = count - len(defaults)
    if len(keyword_defaults) < named:
        return general
    usual = [*[_MISSING] * required, *defaults, *[keyword_defaults[name] for name in names[count:]]]

    def rest(values: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """What was given, to `general`: the others keep their defaults."""
        positional = 0
        if len(keywords) == 1 and "out" in keywords and not (required and values[required - 1] is _MISSING):
            positional = count  # all of them: none has another name
        while positional < count and values[positional] is not usual[positional]:
            positional += 1
        for place in range(positional, len(values)):
            if values[place] is not usual[place]:
                keywords[names[place]] = values[place]
        return general(*values[:positional], **keywords)

    template = _template(count, named, required, out, others)
    def again(values: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The answer of a class whose object was refused. Raises the error where there is none."""
        inside = sys._getframe(2).f_globals.get("__name__", "").startswith("lucid.ops.")  # of what has to answer
        answer = NotImplemented if inside else refused(made, values, keywords)
        if answer is NotImplemented:
            raise  # what the template has caught
        return answer

    known = {"__name__": __name__, "plain": plain, "rest": rest, "again": again, "MISSING": _MISSING}
    made = FunctionType(_named(template, plain.__name__, names), known, plain.__name__, tuple(usual[:count]))
    made.__kwdefaults__ = {**keyword_defaults, **({"out": None} if out else {})}
    return made


def _named(template: CodeType, function: str, names: tuple[str, ...]) -> CodeType:
    """The code of a template with the names of a function and of its parameters."""
    numbered = {f"_{number}": name for number, name in enumerate(names)}
    constants = tuple([tuple([numbered.get(name, name) for name in constant]) if constant.__class__ is tuple else constant
                       for constant in template.co_consts])
    variables = tuple([numbered.get(name, name) for name in template.co_varnames])
    return template.replace(co_name=function, co_qualname=function, co_varnames=variables, co_consts=constants)


@functools.cache
def _template(count: int, named: int, required: int, out: bool, others: bool) -> CodeType:
    names = [f"_{number}" for number in range(count + named)]
    parameters = [*names[:count], *(["*"] if named or out else []), *names[count:], *(["out"] if out else []),
                  *(["**others"] if others else [])]
    unusual = [*(["out is not None"] if out else []), *(["others"] if others else []),
               *([f"_{required - 1} is MISSING"] if required else [])]
    given = "{}" if not (out or others) else "others" if others else "{'out': out}"
    lines = [f"def function({', '.join(parameters)}):", f"    if {' or '.join(unusual) or 'False'}:"]
    if out and others:
        lines += ["        if out is not None:", "            others['out'] = out"]
    elif out:
        given = "{} if out is None else {'out': out}"
    lines += [f"        return rest(({', '.join(names)},), {given})", "    try:",
              f"        return plain({', '.join([*names[:count], *[f'{name}={name}' for name in names[count:]]])})",
              "    except TypeError:",
              f"        return again(({', '.join(names[:count])},), dict({', '.join(f'{n}={n}' for n in names[count:])}))"]
    module = compile("\n".join(lines), __file__, "exec")
    return next(constant for constant in module.co_consts if isinstance(constant, CodeType))
