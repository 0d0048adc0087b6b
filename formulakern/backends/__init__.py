"""Program → compiled code: the exact interpreter, lookup tables, and emitted numba loops."""
