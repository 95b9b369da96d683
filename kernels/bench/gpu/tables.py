"""A result of the batch as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from bench.gpu_targets.bounds import CONVOLUTIONS, FROM_BYTES, SHARE
from bench.report import status

Rows = list[dict[str, Any]]
_FAULTS, _LONGEST = 12, 600  # faults of a part that are printed, and the characters of each
WARNINGS = {"simulator": "SIMULATED, with a clock that is made up: this shows that the batch runs, and says nothing of a GPU.",
            "stub": "On a CUDA that computes nothing, with a clock that is made up: this shows that the batch runs with CuPy, "
                    "and says nothing of a GPU. Every result is wrong there."}


def page(document: dict[str, Any]) -> str:
    """A document in Markdown."""
    about = document["environment"]
    lines = [f"# {about['gpu']}, {document['date']}, commit {about['commit']}", ""]
    if document["place"] in WARNINGS:
        lines += [f"**{WARNINGS[document['place']]}**", ""]
    lines += [f"PyTorch: {document['facts'].get('torch', 'none')}. {len(document['facts']['missing'])} things were missing."]
    lines += [f"- {text}" for text in document["facts"]["missing"]]
    for name, part in document["parts"].items():
        took = f", {part['took']:.0f} s" if "took" in part else ""
        lines += ["", f"## {name}: {part['end']}{took}", ""]
        lines += _SECTIONS[name](part["rows"])
        if "output" in part:
            lines += ["```", part["output"][-1500:], "```"]
    return "\n".join(lines)


def summary(document: dict[str, Any]) -> str:
    """A line for each part."""
    lines = [WARNINGS[document["place"]]] if document["place"] in WARNINGS else []
    for name, part in document["parts"].items():
        words = [part["end"], f"{len(part['rows'])} rows", *([_worst(name, part["rows"])] if part["rows"] else [])]
        lines.append(f"{name:<12} {', '.join(words)}")
        faults = [_fault(row) for row in part["rows"]]
        faults = [fault for fault in faults if fault]
        lines += [f"    {fault}" for fault in faults[:_FAULTS]]
        lines += [f"    and {len(faults) - _FAULTS} more"] if len(faults) > _FAULTS else []
    return "\n".join(lines)


def _fault(row: dict[str, Any]) -> str:
    """What failed in a row and what it said, in one line; nothing where all is right."""
    if row.get("outcome") == "failed":
        return f"FAILED {row['test']}: {row.get('message', '')}"
    wrong = f"wrong: {', '.join(row['wrong'])}" if row.get("wrong") else ""
    said = row.get("failed") or row.get("failure") or wrong
    name = next((str(row[kind]) for kind in ("key", "name", "network", "kernel") if kind in row), "")
    return f"FAILED {name}: {said}".replace("\n", " ")[:_LONGEST] if said else ""


def is_bad(part: dict[str, Any]) -> bool:
    """Whether something in a part failed; that its time was over is no failure."""
    return part["end"].startswith("FAILED") or any(
        row.get("failed") or row.get("failure") or row.get("outcome") == "failed" or row.get("wrong") for row in part["rows"])


def _worst(name: str, rows: Rows) -> str:
    if name in ("gate", "tests"):
        counts: dict[str, int] = {}
        for row in rows:
            for outcome, count in row.get("counts", {}).items():
                counts[outcome] = counts.get(outcome, 0) + count
        return ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) or "no test ran"
    if name == "rows":
        words = [status(row).split(":")[0] for row in rows if "family" in row]
        words += ["failed"] * sum("failed" in row for row in rows)
        return ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words) if word)
    failed = sum(bool(row.get("failed") or row.get("wrong")) for row in rows)
    return f"{failed} failed" if failed else "none failed"


def _table(columns: dict[str, Callable[[dict[str, Any]], str]], rows: Iterable[dict[str, Any]]) -> list[str]:
    lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    lines += [f"| {' | '.join(column(row) for column in columns.values())} |" for row in rows]
    return lines if len(lines) > 2 else []


def _number(name: str, digits: int = 1, factor: float = 1.0) -> Callable[[dict[str, Any]], str]:
    return lambda row: f"{row[name] * factor:,.{digits}f}" if row.get(name) is not None else ""


def _text(name: str) -> Callable[[dict[str, Any]], str]:
    return lambda row: str(row.get(name, "")).replace("|", "\\|").replace("\n", " ")


def _failures(rows: Rows) -> list[str]:
    return [f"- **{next(row[name] for name in ('name', 'network', 'kernel') if name in row)}**: {row['failed']}"
            for row in rows if row.get("failed")]


def _compilation(rows: Rows) -> list[str]:
    good = [row for row in rows if "seconds" in row]
    lines = [f"{len(good)} modules in {sum(row['seconds'] for row in good):.0f} s of the processors."] if good else []
    lines += _failures(rows)
    return lines


def _tests(rows: Rows) -> list[str]:
    lines = []
    for row in rows:
        if "counts" in row:
            counts = ", ".join(f"{count} {outcome}" for outcome, count in row["counts"].items()) or "no test ran"
            lines.append(f"- `{row['tests']}`: {counts}"
                         f"{'' if row['complete'] else '; cut off when the time was over'}")
            if row.get("under_way"):
                lines.append(f"  under way then: {', '.join(f'`{test}`' for test in row['under_way'])}")
            if not row["counts"] and row["complete"]:
                lines += ["```", row["output"], "```"]
        elif "kernels" in row:
            never = f"; never: {', '.join(f'`{name}`' for name in row['not_launched'])}" if row["not_launched"] else ""
            lines.append(f"- {row['launched']} of {row['kernels']} kernels were launched{never}")
    failed = [row for row in rows if row.get("outcome") == "failed"]
    lines += [f"- FAILED `{row['test']}`: {_text('message')(row)}" for row in failed]
    for row in failed[:5]:
        lines += [f"`{row['test']}`", "```", row.get("error", ""), "```"]
    return lines


def _ceilings(rows: Rows) -> list[str]:
    return _table({"": _text("name"), "GB/s": _number("gigabytes_per_second", 0), "TFLOP/s": _number("teraflops"),
                   "us": _number("us", 2)}, rows)


def _host(rows: Rows) -> list[str]:
    def ratio(row: dict[str, Any]) -> str:
        return f"{row['ours_us'] / row['torch_us']:.2f}" if row.get("torch_us") else ""

    columns = {"us of the host": _text("name"), "ours": _number("ours_us"), "median": _number("ours_median_us"),
               "PyTorch": _number("torch_us"), "ratio": ratio}
    return _failures(rows) + _table(columns, [row for row in rows if "ours_us" in row])


def _tuning(rows: Rows) -> list[str]:
    found = [row for row in rows if "key" in row]
    changed = sum(row.get("best") != row.get("choice") for row in found)
    lines = [f"{len(found)} problems, {changed} with another choice than the model's."]
    lines += [f"- **WRONG** {row['key']}: {', '.join(row['wrong'])}" for row in found if row["wrong"]]
    lines += _failures(rows)
    columns = {"problem": _text("key"), "best": _text("best"), "the model's": _text("choice"), "gain": _number("gain", 2),
               "of": _text("network")}
    return [*lines, "", *_table(columns, found)]


def _rows(rows: Rows) -> list[str]:
    found = [row for row in rows if "family" in row]
    columns = {
        "us": _text("name"), "ours": lambda row: _median(row, "ours"), "device": _number("device_seconds", 1, 1e6),
        "PyTorch": lambda row: _median(row, "torch"), "ratio": _number("ratio_to_torch", 2), "at most": _number("target", 2),
        "floor": lambda row: _share(row["floor_share"]), "device's": lambda row: _share(_device_share(row)), "": status}
    lines = _failures(rows) + _table(columns, found)
    convolutions = [row["ratio_to_torch"] for row in found if row["name"].startswith("conv ") and row["ratio_to_torch"]]
    if convolutions:
        mean = math.exp(sum(map(math.log, convolutions)) / len(convolutions))
        lines += ["", f"Convolutions: geometric mean {mean:.2f} (at most {CONVOLUTIONS}), worst {max(convolutions):.2f}."]
    slow = [row["name"] for row in found if row.get("bytes", 0) >= FROM_BYTES and (_device_share(row) or 1) < SHARE
            and row["family"] == "gpu_targets.memory_bound"]
    return lines + (["", f"Below {SHARE:.0%} of a copy's bandwidth: {', '.join(slow)}."] if slow else [])


def _median(row: dict[str, Any], side: str) -> str:
    return f"{row[side]['median'] * 1e6:,.1f}" if side in row else ""


def _device_share(row: dict[str, Any]) -> float | None:
    return row["floor"] / row["device_seconds"] if row.get("floor") and row.get("device_seconds") else None


def _share(value: float | None) -> str:
    return f"{value:.0%}" if value else ""


def _compile(rows: Rows) -> list[str]:
    found = [row for row in rows if "compiled_us" in row]
    columns = {
        "us": _text("name"), "ours": _number("ours_us"), "device": _number("ours_device_us"), "compiled": _number("compiled_us"),
        "its device": _number("compiled_device_us"), "its host": _number("host_us"), "PyTorch": _number("torch_us"),
        "as a graph": _number("graphed_us"), "that's device": _number("graphed_device_us"), "ratio": _number("ratio_to_torch", 2),
        "at most": _number("target", 2), "to a graph": _number("ratio_to_graph", 2), "at most ": _number("graph_target", 2),
        "1st call": _number("first"), "2nd": _number("second"), "3rd": _number("third"),
        "nodes": lambda row: str(sum(row["nodes"].values()) or ""),
        "bits": lambda row: "**others**" if row.get("failed") else "same"}
    lines = _failures(rows) + _table(columns, found)
    for row in found:
        counts = ", ".join(f"{count} {name}" for name, count in row["nodes"].items())
        lines += ["", f"{row['name']}: {row['graphs']}, {row['fused']} fused kernels." + (f" Nodes: {counts}." if counts else "")]
    return lines


def _kernels(rows: Rows) -> list[str]:
    return _failures(rows) + _table({"kernel": _text("name"), "us": _number("us"), "GB/s": _number("gigabytes_per_second", 0),
                                     "TFLOP/s": _number("teraflops")}, [row for row in rows if "us" in row])


_SECTIONS: dict[str, Callable[[Rows], list[str]]] = {
    "compilation": _compilation, "gate": _tests, "ceilings": _ceilings, "host": _host, "tuning": _tuning, "rows": _rows,
    "compile": _compile, "kernels": _kernels, "tests": _tests}
