"""The encoding of a table as one packed table of 0 and 1.

``propositions`` evaluates rules on a table; ``plan`` and ``cut_points`` find the propositions of an
encoder.  ``packed`` is the table of 0 and 1 that kernels, searches and learners read, by row and by
column; ``strict`` reads tables of 0 and 1 without an encoder, and ``bits`` packs 64 bits to a word.
"""
