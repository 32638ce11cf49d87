"""Records that stand for nobody, drawn from a model without a promise: one file per method."""
