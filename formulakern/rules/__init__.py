"""Learned rules: concrete rules over named columns."""
