"""Records with other values than were recorded: one file per method."""
