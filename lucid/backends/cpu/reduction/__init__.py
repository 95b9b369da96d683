"""Reductions and scans on the CPU: `sums`, `extremes`, `scans`; `narrow` calls NumPy, `layouts` what a kernel reads."""
