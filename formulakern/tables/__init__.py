"""Any table as named columns."""
