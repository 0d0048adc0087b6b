"""Text → Formula: connectives, the formula tree, the parser and its error messages, printing."""
