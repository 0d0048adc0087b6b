"""Rows in partitions: in this process, or on the workers of a dask cluster."""
