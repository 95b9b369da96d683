"""Numba kernels. Importing a module of this package imports numba; importing the package itself does not."""
