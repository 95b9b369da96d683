"""The verdicts on synthetic samples, and what cannot be compared."""
from __future__ import annotations

import json
import math
import pathlib
import random
from typing import Any

import pytest

from bench import compare, run
from bench.compare import FASTER, SAME, SLOWER, UNDECIDED, CannotCompare

STEADY = [1.0, 1.01, 0.99, 1.005, 0.995, 1.002]


def result(ours: list[float] | None = None, torch: list[float] | None = None, name: str = "a case") -> dict[str, Any]:
    """A result of two sides with the given times."""
    row: dict[str, Any] = {"family": "softmax", "name": name, "undisturbed": True}
    for side, times in (("ours", ours), ("torch", torch)):
        if times is not None:
            row[side] = {"times": times}
    return row


def document(*results: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A result file."""
    return {"format": compare.FORMAT, "device": "cpu", "quick": False, "environment": {"cpu": "A", "cpus": 2},
            "results": list(results)} | changes


def scaled(factor: float, times: list[float] = STEADY) -> list[float]:
    """`times`, all longer by `factor`."""
    return [factor * time for time in times]


def ratio_row(old: dict[str, Any], new: dict[str, Any], **options: Any) -> compare.Row:
    """The row of the two documents that counts."""
    (row,) = [row for row in compare.compare(old, new, **options) if row.counts]
    return row


@pytest.mark.parametrize(("low", "high", "expected"), [
    (0.96, 1.04, SAME), (0.97, 0.99, SAME), (1 / 1.05, 1.05, SAME),
    (0.5, 0.9, FASTER), (0.93, 0.97, FASTER),
    (1.2, 1.3, SLOWER), (1.01, 1.06, SLOWER),
    (0.94, 1.02, UNDECIDED), (0.99, 1.2, UNDECIDED), (0.5, 2.0, UNDECIDED), (0.0, math.inf, UNDECIDED),
])
def test_verdict_of_an_interval(low: float, high: float, expected: str) -> None:
    assert compare.verdict(low, high) == expected


def test_the_tolerance_decides_what_is_the_same() -> None:
    assert compare.verdict(1.02, 1.08, tolerance=0.1) == SAME
    assert compare.verdict(1.02, 1.08, tolerance=0.05) == SLOWER


@pytest.mark.parametrize(("factor", "expected"), [(1.0, SAME), (0.8, FASTER), (1.25, SLOWER)])
def test_the_ratio_counts(factor: float, expected: str) -> None:
    row = ratio_row(document(result(STEADY, STEADY)), document(result(scaled(factor), STEADY)))
    assert (row.quantity, row.verdict) == ("ratio", expected)
    assert row.low <= factor <= row.high
    assert math.isclose(row.change, factor, rel_tol=0.02)


def test_a_slower_machine_does_not_change_the_ratio() -> None:
    rows = compare.compare(document(result(STEADY, STEADY)), document(result(scaled(2), scaled(2))))
    assert [(row.side, row.quantity, row.verdict, row.counts) for row in rows] == [
        ("ours", "raw", SLOWER, False), ("ours", "ratio", SAME, True), ("torch", "raw", SLOWER, False)]


def test_noise_is_undecided() -> None:
    noisy = [1.0, 3.0, 0.5, 2.0, 0.7, 1.6]
    assert ratio_row(document(result(noisy, STEADY)), document(result(scaled(1.2, noisy), STEADY))).verdict == UNDECIDED


def test_too_few_samples_are_undecided() -> None:
    row = ratio_row(document(result([1.0] * 3, [1.0] * 3)), document(result([0.1] * 3, [1.0] * 3)))
    assert (row.verdict, row.high) == (UNDECIDED, math.inf)
    assert "too few" in str(row)


def test_rows_of_a_disturbed_run_say_so() -> None:
    old, new = document(result(STEADY, STEADY)), document(result(STEADY, STEADY) | {"undisturbed": False})
    assert str(ratio_row(old, new)).endswith("SAME  (disturbed)")
    assert str(ratio_row(old, old)).endswith("SAME")


def test_without_pytorch_the_times_count() -> None:
    row = ratio_row(document(result(STEADY)), document(result(scaled(0.5), STEADY)))
    assert (row.quantity, row.verdict) == ("raw", FASTER)


def test_the_interval_is_that_of_mann_and_whitney() -> None:
    # Tables of the two-sided 5 % point: U = 2 for 5 and 5, 5 for 6 and 6: the 3rd and the 6th quotient from each end.
    for size, rank in ((5, 3), (6, 6)):
        old, new = [1.0] * size, [1.0 + index for index in range(size)]
        quotients = sorted(new * size)
        assert compare.change(old, new)[1:] == (quotients[rank - 1], quotients[-rank])


def test_the_interval_holds_what_it_promises() -> None:
    rng = random.Random(0)
    missed = 0
    for _ in range(400):
        old, new = ([math.exp(rng.gauss(0, 0.2)) for _ in range(6)] for _ in range(2))
        _, low, high = compare.change(old, new)
        missed += not low <= 1 <= high
    assert missed <= 400 * 0.08  # 5 % are allowed; 8 % is three standard deviations more


def test_rows_match_by_family_case_and_side() -> None:
    old = document(result(STEADY, STEADY, "a"), result(STEADY, STEADY, "b"))
    new = document(result(STEADY, None, "b"), result(STEADY, STEADY, "c"))
    assert [(row.name, row.side, row.quantity) for row in compare.compare(old, new)] == [("b", "ours", "raw")]


def test_missing_rows_and_memory_rows_do_not_match() -> None:
    rows = [result(None, STEADY, "missing"), {"family": "peak_memory", "name": "m", "undisturbed": True, "memory": {"ours": {"growth": 1}}}]
    assert [(row.name, row.side) for row in compare.compare(document(*rows), document(*rows))] == [("missing", "torch")]


@pytest.mark.parametrize(("new", "message"), [
    (document(result(STEADY, STEADY, "other")), "no row"),
    (document(), "no row"),
    (document(result(STEADY), environment={"cpu": "B", "cpus": 2}), "--across-machines"),
    (document(result(STEADY), environment={"cpu": "A", "cpus": 4}), "--across-machines"),
    (document(result(STEADY), device="gpu"), "device"),
    (document(result(STEADY), quick=True), "quick"),
    (document(result(STEADY), result(STEADY)), "two rows"),
])
def test_what_cannot_be_compared(new: dict[str, Any], message: str) -> None:
    with pytest.raises(CannotCompare, match=message):
        compare.compare(document(result(STEADY)), new)


def test_other_machines_when_asked() -> None:
    new = document(result(STEADY, STEADY), environment={"cpu": "B", "cpus": 4})
    assert ratio_row(document(result(STEADY, STEADY)), new, across_machines=True).verdict == SAME


@pytest.mark.parametrize(("factor", "status", "word"), [(1.0, 0, SAME), (0.5, 0, FASTER), (2.0, 1, SLOWER)])
def test_exit_status(factor: float, status: int, word: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch,
                     capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / "old.json", tmp_path / "new.json"]
    for path, scale in zip(paths, (1.0, factor)):
        path.write_text(json.dumps(document(result(scaled(scale), STEADY))))
    monkeypatch.setattr("sys.argv", ["run.py", "--compare", *map(str, paths)])
    assert run.main() == status
    assert f"1 {word}" in capsys.readouterr().out


@pytest.mark.parametrize(("text", "message"), [
    (json.dumps(document(result(STEADY, name="other"))), "no row"), ("{}", "format"), ("[]", "format"), ("nonsense", "Expecting"),
    (None, "No such file"),
])
def test_nothing_to_compare_is_an_error(text: str | None, message: str, tmp_path: pathlib.Path,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(json.dumps(document(result(STEADY))))
    if text is not None:
        new.write_text(text)
    assert compare.main(old, new, 0.05, False) == 2
    assert message in capsys.readouterr().out
