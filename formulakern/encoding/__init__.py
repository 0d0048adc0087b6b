"""Data → one packed table of 0 and 1 that knows the names of its columns.

``sources`` opens any table, ``columns`` brings each column into normal form, ``table`` is the
result; ``propositions`` evaluates rules on it, ``cut_points`` and ``column_plan`` find the
propositions that an encoder uses.  ``packed`` is the table of 0 and 1 that kernels, searches and
learners read, by row and by column; ``zero_one`` reads foreign tables into it strictly, and
``bits`` has the words of 64.
"""
