"""Who makes releases of tables with items: groups of the table first, then the items of every group."""
