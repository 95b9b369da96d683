"""Building with g++: the precompiled shim is taken, and what it cannot serve is built without it."""
from __future__ import annotations

import pathlib
import subprocess

import pytest
from lucid_kernels.simulator import build, errors

KERNEL = f'#include "{build.SHIM}"\nextern "C" int answer() {{ return ANSWER; }}\n'


@pytest.fixture(autouse=True)
def needs_compiler() -> None:
    if not build.available():
        pytest.skip("g++ or the CUDA headers are not installed")


def test_the_precompiled_shim_is_taken(tmp_path: pathlib.Path) -> None:
    unit = tmp_path / "kernel.cpp"
    unit.write_text(KERNEL)
    program = build.compiler()
    assert program is not None
    folder = build._precompiled_shim(program)
    command = [program, f"-I{folder}", *build._flags(), "-DANSWER=42", "-H", "-S", str(unit), "-o", str(tmp_path / "kernel.s")]
    headers = subprocess.run(command, capture_output=True, text=True, check=True).stderr.splitlines()
    assert headers[0] == f"! {folder / build.SHIM}.gch", headers[:3]  # "!" marks a precompiled header that is used


def test_definitions_are_part_of_what_is_built() -> None:
    one, again, two = (build.build(KERNEL, [f"-DANSWER={value}"]) for value in (1, 1, 2))
    assert one == again != two


def test_a_definition_that_the_shim_depends_on_is_built_with_the_header_itself() -> None:
    assert build.build(KERNEL, ["-DANSWER=1", "-DNDEBUG", "-DLUCID_SIMULATOR=2"]).exists()


def test_without_checks_accesses_call_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "-fsanitize=thread" in build._flags()
    monkeypatch.setattr(build, "INSTRUMENTED", False)
    assert "-fsanitize=thread" not in build._flags()


def test_shared_variables_have_gaps_in_templates_too() -> None:
    assembly = "\t.local\tplain\n\t.comm\tplain,8,32\n\t.local\ttile\n\t.comm\ttile,28,128\n"
    result = build._with_gaps(assembly)
    assert "\t.comm\tplain,8,32\n" in result and "tile:\n\t.zero\t28\n\t.zero\t256\n" in result
    section = '\t.section\tlucid_shared,"aw"\nfirst:\n\t.zero\t4\nsecond:\n\t.zero\t8\n\t.text\n\t.zero\t5\n'
    assert build._with_gaps(section).count(".zero\t256") == 3  # one in front


def test_an_error_shows_what_the_compiler_said() -> None:
    with pytest.raises(errors.CompileError, match="ANSWER"):
        build.build(KERNEL)
