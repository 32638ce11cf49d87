"""Tables with a set-valued column on their way out, and the audit of such files, whoever made them."""
