"""Hierarchical kernel learning from rows that lie in pieces."""
