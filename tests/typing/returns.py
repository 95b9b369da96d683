"""What pyright knows of the results of public functions and of methods of Tensor: a program that asks, and its answers.

    python -m tests.typing.returns      # lists those whose result could be anything
"""
from __future__ import annotations

import inspect
import pathlib
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence

import lucid
from tests.docs.missing import public_names
from tests.typing import pyright

#: Python's own functions; numbers or vectors of a kernel.
_PASSED_OVER = {"lucid.multiprocessing", "lucid.extension.math", "lucid.utils.tensorboard"}

#: Functions that may return anything, by the reason.
ANYTHING = {f"{namespace}.{name}": reason for reason, namespace, names in [
    ("what a file, or someone's function in one, has", "lucid", "load"),
    ("what a file, or someone's function in one, has", "lucid.hub", "load load_state_dict_from_url"),
    ("numbers as Python computes with them", "lucid", "sym_fresh_size sym_ite sym_max sym_min sym_not sym_sum"),
    ("what a module returns", "lucid.func", "functional_call"),
    ("what a module returns", "lucid.nn.utils.stateless", "functional_call"),
    ("what modules return", "lucid.utils.checkpoint", "checkpoint_sequential"),
    ("tensors in containers as the function and its inputs have them", "lucid.autograd.functional", "hessian jacobian"),
    ("containers as those that are given", "lucid.data", "default_collate default_convert"),
    ("containers as those that are given", "lucid.nn.parallel", "gather scatter"),
    ("containers as those that are given", "lucid.fx", "map_arg"),
    ("one or two results, by two arguments", "lucid.nn.attention.flex_attention", "flex_attention"),
    ("a class, or a decorator of one", "lucid.data", "non_deterministic"),
    ("a callable, or several", "lucid.gpu", "make_graphed_callables"),
    ("what a class of the caller returns", "lucid.overrides", "handle_torch_function"),
    ("of a package that need not be there", "lucid.onnx", "export"),
    ("arguments of a graph's nodes: values, and containers of them", "lucid.fx", "map_arg"),
    ("of a package that need not be there", "lucid.gpu", "graph_pool_handle"),
    ("Python's numbers, and lists of them", "lucid.Tensor", "item tolist"),
    ("a capsule, which has no name in Python 3.12", "lucid.utils.dlpack", "to_dlpack"),
] for name in names.split()}


def _functions() -> Iterator[tuple[str, str, str]]:
    """Each function that has a name: where it stands, its name there, and the expression for it after imports."""
    for number, space in enumerate(public_names.NAMESPACES):
        if space in _PASSED_OVER:
            continue
        module = public_names.namespace(space)
        yield space, "", f"import {module.__name__} as n{number}"
        for name in sorted(module.__all__):
            value = public_names.plain(getattr(module, name))
            if inspect.isroutine(value):
                yield space, name, f"n{number}.{name}"
    yield from (("lucid.Tensor", name, f"lucid.Tensor.{name}") for name in dir(lucid.Tensor)
                if not name.startswith("_") and inspect.isroutine(getattr(lucid.Tensor, name)))


def program() -> str:
    """A program that asks for the type of each function."""
    return "import lucid\n" + "".join(f"{text}\n" if not name else f"reveal_type({text})\n" for _, name, text in _functions())


def _results(signature: str) -> Iterator[str]:
    """What follows the arrow of a signature, or of each of those in `Overload[...]`."""
    depth = 0
    text = signature.removeprefix("Overload[")
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if not depth and text.startswith(" -> ", place + 1):
            yield text[place + 5:]


def untyped(answers: Sequence[str]) -> set[str]:
    """The functions, by their names, that are no functions to pyright, or return anything in all their variants."""
    names = [f"{space}.{name}" for space, name, _ in _functions() if name]
    assert len(answers) == len(names)
    found = set()
    for name, answer in zip(names, answers, strict=True):
        signature = answer.partition('" is "')[2][:-1]
        if all(re.match(r"(Any|Unknown)\b", result) for result in _results(signature)):
            found.add(name)
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        reports = pyright.reports({"revealed.py": program()}, pathlib.Path(folder))["revealed.py"]
    sys.stdout.writelines(f"{name}\n" for name in sorted(untyped([report.message for report in reports])))
