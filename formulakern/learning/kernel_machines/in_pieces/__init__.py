"""The dual problem of rows that lie in pieces: kernel values are computed where the rows are."""
