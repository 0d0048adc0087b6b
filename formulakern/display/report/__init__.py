"""A report of a model as one page: values in, HTML out; it knows no estimator."""
