"""What is said to people: of points, choices, verdicts, disagreements and checks, for tables and for baskets alike."""
