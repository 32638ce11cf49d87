"""The data behind projects: where they may be, opened once for many pages, and shown masked unless somebody asks."""
