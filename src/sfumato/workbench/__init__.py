"""The workbench: the whole walk in a browser. Everything it does is a study on disk, shared with the command line."""
