"""Questions about rules that are decided by logic, over all rows that there can be."""
