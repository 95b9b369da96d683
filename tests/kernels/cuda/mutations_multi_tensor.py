"""Planted bugs for the steps of optimizers and their tables: see lucid_kernels/simulator/mutation.py."""

from __future__ import annotations

import functools

from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda import test_multi_tensor as tests


def check(*rules: str, counted: bool = True) -> None:
    import cupy as cp
    from lucid_kernels.cuda import multi_tensor

    for rule in rules or ("Adam",):
        for case in tests.CASES[rule]:
            tests.check(cp, multi_tensor, rule, case, counted=counted and rule != "Sgd")


def check_device() -> None:
    import cupy as cp
    from lucid_kernels.cuda import multi_tensor

    tests.test_infinite_gradients_change_nothing(cp, multi_tensor)
    tests.test_gradients_lose_their_scale(cp, multi_tensor)
    tests.test_a_rate_on_the_device(cp, multi_tensor)
    tests.test_a_captured_step_counts_and_reads_what_is_kept(cp, multi_tensor)


def check_blocks() -> None:
    import cupy as cp
    import pytest
    from lucid_kernels.cuda import multi_tensor

    with pytest.MonkeyPatch.context() as patch:
        tests.test_blocks_with_parts_of_several_tensors(cp, None, multi_tensor, patch)


def check_table() -> None:
    import cupy as cp
    from lucid_kernels.cuda import multi_tensor

    tests.test_the_table_is_written_where_it_has_changed(cp, multi_tensor)


def of(rule: str, what: str, pattern: str, replacement: str) -> Mutation:
    return Mutation("multi_tensor.cu", f"{rule}: {what}", pattern, replacement, functools.partial(check, rule))


def general(what: str, pattern: str, replacement: str, checked: object = check) -> Mutation:
    return Mutation("multi_tensor.cu", what, pattern, replacement, checked)


MUTATIONS = [
    of("Sgd", "Nesterov ignored", r"f\[5\] != T\(0\) \? g \+ f\[3\] \* m\[0\] : m\[0\]", "m[0]"),
    of("Sgd", "dampened first step", r"f\[6\] != T\(0\) \? g : (f\[3\] \* m\[0\] \+ f\[4\] \* g)", r"\1"),
    of("Adam", "maximum dropped", r"Max\(\)\(m\[2\], m\[1\]\)", "m[1]"),
    of("Adam", "eps under the root", r"sqrt_\((f\[4\] != T\(0\) \? m\[2\] : m\[1\])\) / f\[3\] \+ f\[8\]", r"sqrt_((\1) + f[8]) / f[3]"),
    of("Adam", "decay of the gradient only", r"p \*= f\[1\];", ""),
    of("Adam", "the step before", r"(MOMENTS = 3, COUNTED = 1;\n  static [^\n]+\n)    s\[0\] \+= 1;\n    advance_moments", r"\1    advance_moments"),
    of("RMSprop", "mean not subtracted", r"square -= m\[2\] \* m\[2\];", ""),
    of("RMSprop", "velocity dropped", r"move = m\[1\] = f\[6\] \* m\[1\] \+ move", "m[1] = f[6] * m[1] + move"),
    of("Adagrad", "rate of the next step", r"\(1 \+ s\[0\] \* o\[3\]\)", "(1 + (s[0] + 1) * o[3])"),
    of("Adamax", "sign of the gradient", r"\(g < T\(0\) \? -g : g\) \+ f\[5\]", "g + f[5]"),
    of("NAdam", "product not kept", r"s\[1\] = float\(s\[1\]\) \* float\(now\);", "s[1] = now;"),
    of("RAdam", "never rectified", r"length > 5 \?", "length > 5e9 ?"),
    of("Adadelta", "steps not averaged", r"m\[1\] = f\[3\] \* m\[1\] \+ f\[4\] \* move \* move;", ""),
    of("ASGD", "average of the old parameter", r"p = p \* f\[3\] - g \* f\[2\];\n(.*)\n    return p;", r"\1\n    return p * f[3] - g * f[2];"),
    of("ASGD", "rate of this step", r"f\[2\] = s\[1\];", "f[2] = o[0];"),
    of("Rprop", "gradient kept after a change of sign", r"if \(agreement < T\(0\)\) g = T\(0\);", ""),
    of("Rprop", "no largest step", r"size > f\[5\] \? f\[5\] : size", "size"),
    general("past the end of a tensor", r"begin \+ PART < size \? begin \+ PART : size", "begin + PART"),
    general("the tensor before", "return low;", "return low > 0 ? low - 1 : 0;"),
    general("rest of a part left out", r"i < end; i \+= blockDim\.x\) all\.at", "i < whole; i += blockDim.x) all.at"),
    general("factors of the first tensor", r"counted && k != current", "false", check_blocks),
    general("factors that are still read", r"__syncthreads\(\);  // the factors may still be read", "", check_blocks),
    general("climbs the other way", r"f\[0\] = o\[2\] != 0 \? -1 : 1", "f[0] = 1"),
    general("every block counts", r"if \(!last\) return;", ""),
    general("blocks are not forgotten", r"if \(threadIdx\.x == 0\) words\[DONE\] = 0;", ""),
    general("numbers of the first tensor only", r"k < tensors; k \+= blockDim\.x\) \{", "k < 1; k += blockDim.x) {"),
    general("infinite gradients", r"infinite && \*infinite != 0\.f", "false", check_device),
    general("scale not written back", r"if \(scaled\) \*reinterpret_cast<V\*>\(grad \+ i\) = g;", "", check_device),
    general("kept options", r"kept \? kept\[k\] : options\.at\[k\]", "options.at[k]", check_device),
    general("rate on the device", r"if \(rate\) o\[0\] = \*rate;", "", check_device),
    Mutation("store_words.cu", "one word too few", r"threadIdx\.x < count", "threadIdx.x + 1 < count", check_table),
    Mutation("store_words.cu", "the next word", r"words\.at\[threadIdx\.x\]", "words.at[threadIdx.x ^ 1]", check_table),
]
