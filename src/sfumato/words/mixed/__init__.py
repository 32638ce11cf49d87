"""What is said to people of tables with items."""
