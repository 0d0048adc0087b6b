"""Logic of formulas: diagrams, normal forms, shortest forms, truth tables, other formats."""
