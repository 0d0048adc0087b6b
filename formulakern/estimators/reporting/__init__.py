"""Fitted estimators as values of a report: what is learned, quality, reasons, data."""
