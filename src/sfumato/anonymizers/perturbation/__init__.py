"""Records that stand for nobody, drawn from a model without a promise: one file per method.

Records with other values than were recorded: one file per method.
"""
