"""Pictures, report pages and tables of values; no estimators."""
