"""Rules as SQL that means the same in real engines: dialects, conditions, queries."""
