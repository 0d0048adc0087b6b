"""The heaviest features of a support vector machine."""
