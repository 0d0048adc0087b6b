"""The language of formulas: connectives, formula trees, the parser, its messages and printing."""
