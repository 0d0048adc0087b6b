"""Exact weighted mining: the conjunctions and template instances of largest weighted sum."""
