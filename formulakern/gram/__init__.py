"""Blocks of kernel values → Gram matrix."""
