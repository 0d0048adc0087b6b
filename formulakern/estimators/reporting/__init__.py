"""Fitted estimators as values of a report: rules, quality, reasons and data."""
