"""From where on which implementation is faster: the thresholds by which one is chosen, in one table.

Measured on Zen 3 (AVX2), Zen 4 and Zen 5 (AVX-512), interleaved with what computes the problem otherwise;
`kernels/bench/results` has the environments. Where they differ, a value is a table by the bytes of a vector: 32 or 64.
"0.8 of the time" is that of the implementation over that of the next one. How an implementation cuts its work, and where its
compiled code prefetches, stands with it. From how many elements on a kernel is called at all: `lucid/backends/sizes.py`.

A constant begins with the name of its implementation, and is read as ``tuning.NAME`` when an implementation is chosen.
"""
from __future__ import annotations

import math

# ---- loops and copies --------------------------------------------------------------------------------------------------

# Below this many elements a launch (1 us by the team, 9 by TBB) costs more than the second core gives back.
PARALLEL_FROM = 1 << 15
# The same for loops that compute little, in bytes read and written: half of an L2 cache, which one thread reads as fast as two
# that take from each other what the last kernel left there. relu of 50,000 elements took 7 us on two threads, on one 4.6.
PARALLEL_BYTES = 1 << 19
# A row of a formula is a call of its serial loop, 35 ns: below this many elements that costs more than copying arguments out.
SHORTEST_ROW = 64
# Elements of an array that repeats some, from which on reading these where they lie takes less time than writing it out.
BROADCAST_READ_FROM = 1 << 16
# Elements that take tens of nanoseconds each, such as random numbers by rejection: what one thread takes at a time.
FEW_SLOW_ELEMENTS = 1 << 10
# Elements of half precision from which on a kernel converts them: NumPy's conversion takes 8 to 20 times as long.
HALVES_CONVERTED_FROM = 1 << 12
# Bytes from which on a copy is worth a kernel: of a transposition, and of whole rows, which are NumPy's strength.
COPY_BYTES, COPY_ROWS_BYTES = 1 << 17, 1 << 20
# Elements from which on a transposed panel is worth finding its place: if the rows are longer in the source, and in the target,
# along which NumPy goes. Pixels of 14x14 planes as channels (2x7) took 3.8 times as long as by NumPy.
COPY_SMALL_PANEL = (16, 64)
# Bytes of the shortest rows that copies stream: of whole lines; and of others, whose last lines get two normal stores, which wait
# for the streamed ones. Rows of 512 bytes took 2.5 times as long as without, for joined ones 9 times; those of 16 KiB 0.8.
COPY_STREAMED_ROW, COPY_STREAMED_RAGGED_ROW = 1 << 8, 1 << 14
# Bytes of rows that kernels stream: parts of vectors are few, and a row waits in the L1 or L2 cache.
STREAMED_SHORTEST_ROW, STREAMED_LONGEST_ROW = 1 << 9, 1 << 18
# The same of rows that begin and end within lines. The two stores to such a line wait for the streamed ones around it: with rows
# of 516 bytes softmax and layer norm took 2.1 times as long as with normal stores; with 2060 bytes 1.4 and 1.7; with 4000 0.8 and
# 1.
STREAMED_SHORTEST_RAGGED_ROW = 3 << 10
# Elements of an array that others are added to, and of its rows, from which on that takes less time than NumPy's.
ACCUMULATE_FROM, ACCUMULATE_LEAST_ROW = 1 << 16, 1 << 5

# ---- elementwise -------------------------------------------------------------------------------------------------------

# Elements from which on rows of parts of arrays are read where they lie: below, NumPy's copies of them take no longer.
ELEMENTWISE_PARTS_FROM = 1 << 14
# The same for formulas: halves of 32,768 take 0.75 of the time that copies take, those of 131,072 half of it.
FUSED_PARTS_FROM = 1 << 15
# Of fewer integers NumPy's loop takes as long.
ARITHMETIC_OF_INTEGERS_FROM = 1 << 18
# Bytes of integers from which on our loops, which stream their results, take 0.75 of the time of NumPy's on all threads.
INTEGERS_STREAMED_BYTES = 16 << 20
# Elements from which a kernel is faster than NumPy where arrays are broadcast, or one is a number; and where one is a number, in
# place: NumPy's loops for that are as fast on one thread, and the call of a formula takes 4 to 8 us.
ARITHMETIC_BROADCAST_FROM = ARITHMETIC_WITH_NUMBER_FROM = 1 << 16
ARITHMETIC_IN_PLACE_WITH_NUMBER_FROM = 1 << 18
# Elements of half precision from which on a kernel is faster than NumPy, which converts them one by one.
ARITHMETIC_HALVES_FROM = 1 << 11
# Elements of rows, without gaps in arrays that have some between them, from which on NumPy is faster than copies for a kernel.
ARITHMETIC_LEAST_ROW = 8

# ---- reduction, sorting, indexing --------------------------------------------------------------------------------------

# Rows of so few elements are summed by BLAS, as products with ones: 0.1 to 0.7 of the time.
REDUCTION_BLAS_LONGEST_ROW = 24
# Elements along a row that pay for the call of a loop that folds it. Without AVX-512, products of rows of 4 take 0.45 of NumPy's
# time, of 10 0.4, of 20 0.25.
REDUCTION_LEAST_FOLDED = {32: 4, 64: 64}
# So few columns are summed as if two, four or more rows were one: loops over 8 columns took 3 times as long.
REDUCTION_FEW_COLUMNS = 512
# Columns of fewer of which vectors stay empty in the search for the largest of each.
EXTREMES_NARROWEST = 32
# Elements of rows with gaps between them, from which on their sums take less time than a copy and its sums.
STRIDED_SUM_LEAST_ROW = 1 << 4
# Rows of up to so many words are left to NumPy, which sorts words of 64 bits by vectors (AVX-512, AVX2, NEON): 0.2 of the time of
# rows of 64 on one thread, as much as on two for 4096.
SORT_LONGEST_BY_NUMPY = 512
# Indices that pay for a call of our own.
CHECK_BOUNDS_FROM = 1 << 15

# ---- normalization, attention, recurrence ------------------------------------------------------------------------------

# Elements of (N, C) from which on copying it takes longer than the columns need: 10 us.
BATCH_NORM_COLUMNS_FROM = 1 << 13
# So many queries read the keys as they lie instead of having them transposed.
ATTENTION_FEW_QUERIES = 4
# Exponentials are kept for the gradient where they take at most so many times the memory of the queries, and are worth the way to
# memory and back: 64 heads of 256x64 take 0.91 of the time, 128x64 0.95, but 0.97 with the half that a causal mask leaves of
# 256x64, and 1 with a width of 32. With longer sequences the gain is the same, but their memory grows with the square. That of a
# few queries is little beside that of the keys; computed again, their probabilities had four times the error of PyTorch's.
ATTENTION_KEPT_KEYS, ATTENTION_KEPT_WIDTH = 4, 64
# Steps for which a weight is packed.
RECURRENT_LEAST_STEPS = 4
# Rows for which all steps in one kernel are faster than a product and a step after the other: with AVX-512 32 take 0.84 of the
# time, 64 1.04 to 1.09; without, 64 take 0.8 to 0.9, of 512 features as long.
RECURRENT_MOST_ROWS = {32: 64, 64: 48}

# ---- convolution -----------------------------------------------------------------------------------------------------

# Products of a convolution, some 20 us: below, what large convolutions do saves nothing.
CONVOLUTION_LEAST_PRODUCTS = 1 << 17

# With fewer channels, or fewer pairs of them, Winograd's transforms take longer than the products that they save: 1.0 to 1.7 of
# the time of direct convolution for 8 -> 32, 0.85 to 1.15 for 16 -> 16, 0.7 to 0.95 for 16 -> 32, 0.55 to 0.85 for 32 -> 32.
WINOGRAD_LEAST_CHANNELS = 16
WINOGRAD_LEAST_PAIRS = 512
# With fewer tiles the weight's transform is not paid back: 64 channels take 0.5 to 1.1 of the time with 16 tiles.
WINOGRAD_LEAST_TILES = 16
# Bytes of the largest transformed weight, 1.8 times the weight itself.
WINOGRAD_WEIGHT_BYTES = 1 << 26
# In the forward pass direct convolution, which reads the weight once and where it lies, takes 0.5 to 1.0 of the time for at
# most so many positions of all images; of a large weight, which leaves the L2 cache when it is transformed, 0.65 to 0.9.
WINOGRAD_FEW_POSITIONS, WINOGRAD_FEW_POSITIONS_OF_LARGE_WEIGHT = 49, 100

# The largest share of the products of direct convolution, without rows of taps that meet only padding, that those of Winograd may
# be, which compute tiles that are partly empty: with 0.74 they take 0.93 of the time (phases of 5x5 pixels), with 0.94 1.2 (3x3).
WINOGRAD_DILATED_MOST_PRODUCTS = 0.75
# With fewer channels it takes longer to deal and to gather than is saved: 32 -> 32 takes 0.9 to 1.1 of the time, 64 -> 64 0.7.
WINOGRAD_DILATED_LEAST_CHANNELS = 32

# The largest share of the products that bands leave: each is a convolution of its own, which packs its part of the weight. And
# positions that a band has at least, two register blocks.
DILATION_BANDS_MOST_PRODUCTS, DILATION_BANDS_LEAST_POSITIONS = 0.85, 96

# Columns of a patch from which on forward pass and weight gradient take 0.6 to 0.9 of the time of direct convolution, and the
# input gradient no more; with 4 columns 1.05 to 1.2.
PATCH_EMBEDDING_LEAST_COLUMNS = 6

# Bytes of the transposed planes of both arrays, where `planes` has a microkernel: half of an L2 cache of 1 MiB. Where it has
# none, larger ones take 0.6 to 1.2 of the time of direct convolution, their weight gradient 0.3, until they leave the L3 cache.
DEPTHWISE_CHANNELS_MOST_BYTES = 512 << 10
DEPTHWISE_CHANNELS_MOST_BYTES_WITHOUT_PLANES = 4 << 20
# How wide results may be, in vectors, by the rows of taps, where `planes` has a microkernel: that takes 1.1 to 2.8 times as
# long up to there, and 0.6 to 0.9 of the time beyond, where more of each vector is used. The width of a spread gradient is that
# of what it is made of.
DEPTHWISE_CHANNELS_WIDEST_FILTERED: dict[int, dict[int, float]] = {
    32: {3: 2, 5: math.inf, 7: math.inf}, 64: {3: 1.25, 5: 4, 7: math.inf}}
DEPTHWISE_CHANNELS_WIDEST_SPREAD: dict[int, dict[int, float]] = {32: {3: 2, 4: 2, 5: 2}, 64: {3: 1.25, 4: 0.75, 5: 0.75}}
DEPTHWISE_CHANNELS_WIDEST_CORRELATED = {32: 1.25, 64: 0.75}
# The least of these for several slices, whose sums `planes` takes from memory.
DEPTHWISE_CHANNELS_WIDEST_SLICES = 2

# With fewer channels or results most of a vector or of a block is empty, or what is transposed is not paid back.
OUTER_GRAD_WEIGHT_LEAST_CHANNELS, OUTER_GRAD_WEIGHT_LEAST_OUTPUTS = 16, 16
# Positions of an image at most: of more, dot products have few sums to add up. This takes 0.75 of their time for 14x14, 0.82 for
# 17x17, and 1.1 times as long for 56x56.
OUTER_GRAD_WEIGHT_MOST_POSITIONS = 512

# Positions of a slice of the result from which on the weight gradient of volumes by dot products takes no longer than copies of
# slices and `outer_grad_weight`: 0.95 of the time for 196 of 64 channels, 1.03 for 100, 1.3 for 49 of 128, but 0.5 to 0.75 for
# 2x2x2 taps.
DIRECT_VOLUMES_LEAST_POSITIONS = 100

# ---- products of matrices, by multiply-adds unless something else is said ----------------------------------------------

# OpenBLAS uses threads from here on.
OPENBLAS_THREADS_FROM = 1 << 18
# From here on our own products take 0.5 to 0.85 of the time on two threads. Below, up to 14 us of work, they gain little, and
# small nets need not compile them (1.3 s with no cache).
SHARED_FROM = 1 << 20
# The same where the columns of the right operand are contiguous, as in linear layers: OpenBLAS takes 1.2 to 2 times as long, for
# few rows 2 to 8 times. It is as fast where those of the left one are contiguous too.
SHARED_TURNED_FROM, SHARED_FEW_ROWS = 1 << 18, 8
# Fewer rows are multiplied with the matrix as it lies in less time than a block of a packed one that is filled up.
PREPACKED_LEAST_ROWS = 4
# Rows or columns of a product that threads share.
SHARED_LEAST_SIDE = 32
# Results of a few products each, as of a layer with two inputs: OpenBLAS takes 2 to 4 times as long where the columns are
# contiguous, and a multiplication twice as long for one product each, unless it writes large results with non-temporal stores.
FEW_STEPS, FEW_STEPS_FROM, FEW_STEPS_PAST_CACHES_FROM, FEW_STEPS_SHORTEST_ROW = 8, 1 << 15, 1 << 19, 64
# Sums of one product each: from here on BLAS takes 3 to 5 times as long as a multiplication.
OUTER_FROM = 1 << 10
# Products of integers: NumPy's own loops take 12 times as long for matrices of 100 rows and columns, 40 times for those of 500.
INTEGERS_FROM = 1 << 12
# Of more rows, and of steps fewer than so many for each row, it pays to turn the matrix.
SKINNY_MOST_ROWS, SKINNY_STEPS_OF_A_ROW = 12, 16
# Columns of contiguous rows; OpenBLAS takes 0.7 of the time for four.
BLOCKED_FEWEST_COLUMNS = 5
# Elements of a stack of small matrices, and multiply-adds of one for which OpenBLAS is called on all threads: 8 matrices of 64x64
# take 0.8 of the time, 128 products of 128x64 and 64x128, attention by hand, 0.3.
STACKS_FROM, STACKS_WORK = 1 << 10, 1 << 21
# The same for complex numbers, of which a multiply-add is four: 64 products of 16x16 take 0.6 of the time.
STACKS_COMPLEX_WORK = 1 << 18
# Matrices of a stack for each thread, from which on none is cut into tiles.
STACKS_MATRICES_OF_A_THREAD = 4
# Elements of a complex matrix from which on OpenBLAS uses threads for its product with a vector: 2.4 us become 8 ms where another
# process has one of the cores.
COMPLEX_VECTORS_FROM = 1 << 12
# Most multiply-adds of a matrix, and fewest matrices: 512 of 16x16 take 0.7 of NumPy's time, and 0.35 of it if the right ones
# are transposed.
BATCHED_SMALL_MOST_WORK, BATCHED_SMALL_LEAST_COUNT = 1 << 12, 1 << 9
# The same with AVX-512, and the fewest multiply-adds of such a stack; a long sum one by one has larger errors than BLAS's. With
# AVX2, where sums and masks need more registers than there are, these blocks take twice the time of BLAS.
BATCHED_SMALL_MOST_LARGE_WORK, BATCHED_SMALL_LEAST_LARGE_COUNT, BATCHED_SMALL_MOST_DEPTH = 1 << 22, 4, 1 << 9
BATCHED_SMALL_LEAST_STACK, BATCHED_SMALL_LEAST_TURNED_STACK = 1 << 20, 1 << 19
# The share of the lanes that has columns of the result, below which BLAS is faster, unless matrices are turned: of 33 or 49.
BATCHED_SMALL_LEAST_FILLED = 0.85
