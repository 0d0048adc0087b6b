"""Pictures, pages and tables of values; no estimators."""
