"""Arithmetic on joint counts: the intermediate representation between meaning and code."""
