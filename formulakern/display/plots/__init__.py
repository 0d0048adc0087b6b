"""Values → pictures: rules, their curves and overlaps, Gram matrices, histories, settings."""
