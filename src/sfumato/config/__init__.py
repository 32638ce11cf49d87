"""Options, text forms and documents of configurations."""
