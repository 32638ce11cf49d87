"""The process we are: what the shell allows it, how it is stopped, where its output goes."""
