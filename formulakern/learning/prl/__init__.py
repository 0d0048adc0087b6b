"""Preference and rule learning: a zero-sum game solved by column generation."""
