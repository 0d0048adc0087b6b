"""Hierarchical kernel learning: an active set of conjunctions that grows to a certificate."""
