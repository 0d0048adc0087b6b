"""Hierarchical kernel learning: a certified solution on a growing active set of conjunctions."""
