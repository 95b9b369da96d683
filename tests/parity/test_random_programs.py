"""Random programs on modules, run on PyTorch and on lucid: after every step keys, values, dtypes and error classes agree.

The programs register, assign, delete, set to None, cast, load, copy and hook. They keep to what `docs/differences.md` leaves
equal: a tensor assigned to a buffer is not computed and not an alias of other state.
"""
from __future__ import annotations

import copy
import io
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid

NAMES = ("a", "b", "c")
DTYPES = ("float32", "float64", "float16", "bfloat16")
Step = Callable[[Any, Any], Any]  # (library, root) -> what to compare


def modules(root: Any) -> list[Any]:
    return list(root.modules())


def random_step(choose: random.Random) -> tuple[str, Step]:
    """What one step does, in words, and the step itself: all choices are made here, so both libraries see the same ones."""
    name, place = choose.choice(NAMES), choose.random()
    size, dtype, flag = choose.randrange(1, 4), choose.choice(DTYPES), choose.random() < 0.5
    number = choose.randrange(100)

    def owner(root: Any) -> Any:
        found = modules(root)
        return found[int(place * len(found))]

    def value(t: Any, kind: str) -> Any:
        if kind == "module":
            module = t.nn.BatchNorm1d(size, affine=flag) if number % 2 else t.nn.Linear(size, 1, bias=flag)
            fill(t, module, number)
            return module
        data = t.full((size,), float(number), dtype=getattr(t, "int64" if kind == "integers" else dtype))
        return {"parameter": lambda: t.nn.Parameter(data, requires_grad=flag), "none": lambda: None,
                "text": lambda: "x", "declared": lambda: t.nn.Buffer(data, persistent=flag)}.get(kind, lambda: data)()

    kind = choose.choice(("parameter", "parameter", "tensor", "integers", "declared", "none", "module", "text"))
    path = choose.choice(("a", "a.b", "b.weight", "c.a", "a.running_mean", ""))
    steps: list[tuple[str, Step]] = [
        (f"set {name} to {kind}", lambda t, root: setattr(owner(root), name, value(t, kind))),
        (f"set {name} to {kind}", lambda t, root: setattr(owner(root), name, value(t, kind))),
        (f"delete {name}", lambda t, root: delattr(owner(root), name)),
        (f"register buffer {name} {kind}", lambda t, root: owner(root).register_buffer(name, value(t, kind), flag)),
        (f"register parameter {name} {kind}", lambda t, root: owner(root).register_parameter(name, value(t, kind))),
        (f"add module {name} {kind}", lambda t, root: owner(root).add_module(name, value(t, kind))),
        (f"cast to {dtype}", lambda t, root: None if owner(root).to(getattr(t, dtype)) is not None else "None"),
        ("half, double", lambda t, root: [owner(root).half, owner(root).double][flag]() and None),
        (f"train {flag}", lambda t, root: [m.training for m in modules(owner(root).train(flag))]),
        (f"requires_grad {flag}", lambda t, root: owner(root).requires_grad_(flag) and None),
        (f"look up {path}", lambda t, root: type(root.get_submodule(path)).__name__),
        (f"parameter {path}", lambda t, root: tuple(root.get_parameter(path).shape)),
        (f"buffer {path}", lambda t, root: tuple(root.get_buffer(path).shape)),
        ("load zeros", lambda t, root: load(t, root, flag, number)),
        ("names", lambda t, root: names(root, flag)),
        ("zero_grad", lambda t, root: root.zero_grad(flag)),
        ("fill", lambda t, root: fill(t, root, number)),
    ]
    return choose.choice(steps)


def load(t: Any, root: Any, strict: bool, number: int) -> Any:
    """Load a state of which some keys are missing and one is unexpected."""
    state = {key: t.full_like(tensor, number % 7) for index, (key, tensor) in enumerate(root.state_dict().items())
             if number % 3 or index % 4 != 1}
    if number % 5 == 0:
        state["unexpected"] = t.ones(1)
    try:
        return [sorted(keys) for keys in root.load_state_dict(state, strict=strict)]
    except RuntimeError:
        fill(t, root, number)  # PyTorch leaves a failed load half-done
        raise


def names(root: Any, unique: bool) -> Any:
    return [[name for name, _ in walk("p", remove_duplicate=unique)] for walk in (root.named_parameters, root.named_buffers)] + [
        [name for name, _ in root.named_modules()], [name for name, _ in root.named_children()]]


def fill(t: Any, root: Any, number: int) -> None:
    with t.no_grad():
        for tensor in (*root.parameters(), *root.buffers()):
            tensor.fill_(number)


def duplicated(root: Any, number: int) -> Any:
    return copy.deepcopy(root) if number % 2 else pickle.loads(pickle.dumps(root))


def described(root: Any) -> list[Any]:
    """Keys, dtypes and values of the state, all names, flags."""
    state = [(key, str(tensor.dtype).replace("torch.", ""), tensor.double().tolist())
             for key, tensor in root.state_dict().items()]
    flags = [(name, parameter.requires_grad) for name, parameter in root.named_parameters()]
    slots = [(sorted(m._parameters), sorted(m._buffers), sorted(m._modules), sorted(m._non_persistent_buffers_set), m.training)
             for m in modules(root)]
    return [state, flags, slots, names(root, True)]


def root_of(t: Any) -> Any:
    root = t.nn.Module()
    root.a = t.nn.Linear(2, 1)
    root.b = t.nn.Sequential(t.nn.BatchNorm1d(2), t.nn.Identity())
    root.register_buffer("c", None)
    fill(t, root, 1)
    return root


@pytest.mark.torch
@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int, device: str) -> None:
    torch = pytest.importorskip("torch")
    choose = random.Random(seed)
    ours, theirs = root_of(lucid).to(device), root_of(torch)
    program = []
    for number in range(25):
        words, step = random_step(choose)
        program.append(words)
        with lucid.device(device):
            mine, expected = outcome(step, lucid, ours), outcome(step, torch, theirs)
        assert mine == expected, program
        assert described(ours) == described(theirs), program
        if number % 8 == 7 and all(tensor.is_leaf for tensor in theirs.buffers()):  # PyTorch cannot copy the others
            ours, theirs = duplicated(ours, seed), duplicated(theirs, seed)
            assert described(ours) == described(theirs), [*program, "copy"]
    file = io.BytesIO()
    lucid.save(ours.state_dict(), file)
    file.seek(0)
    loaded = lucid.load(file)
    assert list(loaded) == list(theirs.state_dict())
    for key, tensor in theirs.state_dict().items():
        assert np.array_equal(loaded[key].double().tolist(), tensor.double().tolist())


def outcome(step: Step, library: Any, root: Any) -> Any:
    try:
        return step(library, root)
    except Exception as error:
        # lucid's classes are PyTorch's or subclasses of them
        return next(base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins")
