"""The op table has a row for every name of the operation surface."""
from __future__ import annotations

import operator

import lucid
from tests.ops.table import ROWS, surface

# No computation to check by a row: settings, states and descriptions of dtypes.
WITHOUT_ROWS = """Generator get_rng_state set_rng_state manual_seed initial_seed seed finfo iinfo result_type promote_types can_cast
    set_default_dtype get_default_dtype get_default_device broadcast_shapes random.seed random.get_seed random.fork_rng
    random.get_rng_state random.set_rng_state random.manual_seed random.initial_seed Tensor.is_gpu Tensor.gpu Tensor.free
    Tensor.storage_offset Tensor.grad Tensor.data Tensor.shape Tensor.dtype Tensor.device Tensor.ndim""".split()



def names() -> list[str]:
    found = [name for family in surface.FUNCTIONS.values() for name in family.split()] + surface.LUCID_FUNCTIONS.split()
    found += [f"Tensor.{name}" for name in f"{surface.METHODS} {surface.PROPERTIES}".split()]
    return found + [f"{module}.{name}" for module, listed in surface.MODULES.items() for name in listed.split()]


def test_every_name_of_the_surface_has_a_row():
    tested = {operator.attrgetter(row.op)(lucid) for row in ROWS} | {row.op for row in ROWS}
    missing = []
    for name in names():
        plain = name.removeprefix("Tensor.")
        same = {name, plain, plain.removesuffix("_"), f"Tensor.{plain}", f"Tensor.{plain.removesuffix('_')}"}
        found = operator.attrgetter(name)(lucid)
        if not same & tested and found not in tested and name not in WITHOUT_ROWS:
            missing.append(name)
    assert not missing
