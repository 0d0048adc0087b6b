"""Support vector machines on strings, and which k-mer they look at where."""
