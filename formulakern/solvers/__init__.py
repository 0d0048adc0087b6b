"""Optimisation, arrays in and arrays out, with a certificate for every answer."""
