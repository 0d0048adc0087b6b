"""Boolean functions of numbered variables: diagrams, model counts, implicants, smallest covers.

Nothing here knows of formulas or names; a variable is its level, an integer.
"""
