"""Optimisation on arrays, with a certificate for every result."""
