"""Rules as a self-contained Python function."""
