"""Any table as named columns: reading, values, choosing columns and rows."""
