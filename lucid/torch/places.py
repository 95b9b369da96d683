"""Where in lucid the names of a module of PyTorch are.

A module is found under its own name (`torch.nn.functional` in `lucid.nn.functional`), but for those here. Modules that lucid has
not split as PyTorch has, such as `torch.distributions.normal`, are looked for in the package above them.
"""
from __future__ import annotations

import functools
import importlib
from types import ModuleType

_ELSEWHERE = {
    "torch._C": "lucid lucid.overrides", "torch._tensor": "lucid", "torch.functional": "lucid",
    **dict.fromkeys(("torch.cuda", "torch.cuda.memory", "torch.cuda.random", "torch.cuda.streams"), "lucid.gpu"),
    "torch.backends.mps": "lucid.backends.mps", "torch.nn.parallel.comm": "lucid.gpu.comm", "torch.cuda.comm": "lucid.gpu.comm",
    "torch.utils.data": "lucid.data", "torch.utils.data._utils.collate": "lucid.data.collate",
    "torch.distributions": "lucid.distributions lucid.distributions.utils",
    "torch.backends": "", "torch.optim._functional": "", "torch.optim._multi_tensor": "",
}
#: Packages whose modules may be one in lucid.
WHOLE = """torch.distributions torch.nn.modules torch.nn.parallel torch.nn.utils torch.nn.attention torch.optim torch.autograd
    torch.amp torch.utils.data torch.utils.data._utils torch.signal torch.signal.windows""".split()
_HIDDEN = ("torch.backends.",)


@functools.cache
def places(module: str) -> tuple[ModuleType, ...]:
    """The modules of lucid that have names of the module `module` of PyTorch, in the order in which they are asked."""
    own = _ELSEWHERE.get(module)
    if own is None and not module.startswith(_HIDDEN):
        above, _, last = module.rpartition(".")
        root, *_ = (_ELSEWHERE.get(above) or "lucid" + above.removeprefix("torch")).split()
        own = f"{root}.{last}" if above else "lucid"
    found = [_imported(each) for each in own.split()] if own else []
    above = module.rpartition(".")[0]
    if above in WHOLE and own != "":
        found += places(above)
    return tuple(each for each in found if each is not None)


def _imported(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise
        return None
