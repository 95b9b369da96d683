"""Planted bugs for random: see lucid_kernels/simulator/mutation.py."""
from __future__ import annotations

import numpy as np
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda.random import test_random


def check_stored() -> None:
    import cupy as cp

    test_random.check_stored(cp)


def check_random() -> None:
    import cupy as cp
    from lucid_kernels.cpu.random import random as cpu
    from lucid_kernels.cuda.random import random

    place = dict(seed=test_random.SEED, offset=test_random.OFFSET)
    for dtype in (np.float32, np.float64):
        y = random.random_uniform(shape=(1001,), dtype=dtype, **place)
        test_random.same_bits(y, test_random.uniform(dtype, *place.values(), 1001))
        for interval in (dict(low=1.0, high=1 + 2.0**-20), dict(low=0.1, high=0.8)):
            expected = cpu.random_uniform(shape=(1001,), dtype=dtype, **place, **interval)
            test_random.same_bits(random.random_uniform(shape=(1001,), dtype=dtype, **place, **interval), expected)
        expected = cpu.random_exponential(shape=(1001,), dtype=dtype, **place)
        test_random.same_bits(random.random_exponential(shape=(1001,), dtype=dtype, **place), expected)
        expected = cpu.random_normal(shape=(1001,), dtype=dtype, **place)
        test_random.same_bits(random.random_normal(shape=(1001,), dtype=dtype, **place), expected)
        x = np.random.default_rng(0).standard_normal(1001).astype(dtype)
        x[:100] = np.inf
        test_random.same_bits(random.dropout(cp.asarray(x), p=0.3, **place), cpu.dropout(x, p=0.3, **place))
    bounds = dict(low=-7, high=2**40, dtype=np.int64)
    expected = cpu.random_integers(shape=(1001,), **bounds, **place)
    test_random.same_bits(random.random_integers(shape=(1001,), **bounds, **place), expected)


RANDOM = "random.cu"
PHILOX, NUMBERS = "philox.cuh", "numbers.cuh"
MUTATIONS = [
    # random_uniform, random_normal, random_integers: the store matches once, in the helper, and once in each kernel
    Mutation(RANDOM, "nine rounds", r"round < 10", "round < 9", check_random, inside=PHILOX),
    Mutation(RANDOM, "32-bit counter", r"\(unsigned\)\(counter >> 32\)", "0u", check_random, inside=PHILOX),
    Mutation(RANDOM, "stored: always from the first block", r"at\[1\] \+ offset", "at[1]", check_stored, inside=PHILOX),
    Mutation(RANDOM, "tail", r"q \* Numbers<T>::count, n\)", "q * Numbers<T>::count, n + 1)", check_random),
    Mutation(RANDOM, "uniform: 23 bits", r"\(float\)\(w\.y >> 8\)", "(float)(w.y >> 9 << 1)", check_random),
    Mutation(RANDOM, "uniform: the end", r"number < range\.top \? number : range\.top", "number", check_random),
    Mutation(RANDOM, "uniform: contracted", r"add\(mul\(unit, range\.span\), range\.low\)",
             "fused(unit, range.span, range.low)", check_random),
    Mutation(RANDOM, "exponential: 1 - u rounded", r"e == T\(0\) \? -rest : f", "f", check_random, inside=NUMBERS),
    Mutation(RANDOM, "rounded twice", r"__fmaf_rn\(a, b, c\)", "__fadd_rn(__fmul_rn(a, b), c)", check_random, inside=NUMBERS),
    Mutation(RANDOM, "rounded twice in double", r"__fma_rn\(a, b, c\)", "__dadd_rn(__dmul_rn(a, b), c)", check_random, inside=NUMBERS),
    Mutation(RANDOM, "quadrant", r"\(quadrant \+ 1\) & 2", "quadrant & 2", check_random, inside=NUMBERS),
    Mutation(RANDOM, "integers: low word first", r"\(u64\)w\.z << 32 \| w\.w", "(u64)w.w << 32 | w.z", check_random),
    Mutation(RANDOM, "dropout: keeps the wrong ones", r"words\[j\] >= threshold", "words[j] < threshold", check_random),
    Mutation(RANDOM, "dropout: tail", r"if \(i < n\)", "", check_random),
    Mutation(
        RANDOM,
        "dropout: inf times zero",
        r"widened\(x\[i\]\) \* \(words\[j\] >= threshold \? scale : Accumulator<T>\(0\)\)",
        "(words[j] >= threshold ? widened(x[i]) * scale : Accumulator<T>(0))",
        check_random,
    ),
]  # fmt: skip
