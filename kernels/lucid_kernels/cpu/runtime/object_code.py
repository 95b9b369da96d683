"""A compiled kernel as it is kept on disk, and made callable again: its object code, and no more.

Numba keeps the bitcode too, from which other functions inline it: nothing inlines ours (`compiler.Kernel`). It keeps the
environment of each function that is linked in, and to load that imports the module of the function: with `np.sum` that is
SciPy. And before it loads anything it registers all that it can compile. Together that is 0.3 s of a process's start.
"""

from __future__ import annotations

from typing import Any

from llvmlite.binding import Linkage
from numba.core import compiler
from numba.core.environment import lookup_environment
from numba.core.runtime.nrt import rtsys


def store(compiled: Any) -> tuple[Any, ...]:
    """What `load` needs of a compiled kernel, to be pickled."""
    library, described = compiled.library, compiled.fndesc
    names = (*library._final_module.functions, *library._final_module.global_variables)
    symbols = [value.name for value in names if not value.is_declaration and value.linkage is not Linkage.internal]
    # Code reads its environment for constants that are Python objects.
    environments = [lookup_environment(name) for name in symbols if name.startswith("_ZN08NumbaEnv")]
    kept = tuple(environment for environment in environments if environment is not None and environment.consts)
    return (library.name, library._get_compiled_object(), frozenset(symbols), described, compiled.environment, compiled.signature,
            compiled.reload_init, kept)  # fmt: skip


def load(target: Any, stored: tuple[Any, ...]) -> Any:
    """The compiled kernel again, linked into this process."""
    name, code, symbols, described, environment, signature, reload_init, environments = stored
    rtsys.initialize(target)
    for start in reload_init:
        start()
    codegen = target.codegen()
    library = codegen.create_library(name)
    library.enable_object_caching()
    library._set_compiled_object(code)
    library._finalize_final_module()  # of an empty module, for which the code generator looks for the object code
    codegen._engine._defined_symbols |= symbols
    function = target.get_executable(library, described, environment)
    for other in environments:
        codegen.set_env(other.env_name, other)
    return compiler.compile_result(
        target_context=target, typing_context=target.typing_context, library=library, environment=environment,
        entry_point=function, fndesc=described, signature=signature, objectmode=False, lifted=(), reload_init=reload_init,
        referenced_envs=environments)  # fmt: skip
