"""Rows that lie in pieces: here, in files, or on the workers of a dask cluster."""
