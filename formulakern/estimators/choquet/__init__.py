"""Support vector machines whose decision is a Choquet integral of the attributes."""
