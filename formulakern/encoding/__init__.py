"""A table → one packed table of 0 and 1 that knows the names of its columns.

``propositions`` evaluates rules on a table, ``cut_points`` and ``column_plan`` find the
propositions that an encoder uses.  ``packed`` is the table of 0 and 1 that kernels, searches and
learners read, by row and by column; ``zero_one`` reads any table into it strictly, and ``bits`` has
the words of 64.
"""
