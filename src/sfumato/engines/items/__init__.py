"""Text files of sets of items: how they are laid out, reading and writing them."""
