"""Choosing a formula for a table."""
