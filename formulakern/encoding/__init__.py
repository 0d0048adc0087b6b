"""A table → one packed table of 0 and 1 that has the names of its columns.

``propositions`` evaluates rules on a table; ``plan`` and ``cut_points`` find the propositions that
an encoder uses.  ``packed`` is the table of 0 and 1 that kernels, searches and learners read, by
row and by column; ``strict`` reads any table into it without an encoder, and ``bits`` has the words
of 64.
"""
