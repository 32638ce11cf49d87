"""The workbench: the whole walk in a browser. Everything it does is a study on disk, shared with the command line.

The data behind projects: where they may be, opened once for many pages, and shown masked unless somebody asks.
"""
