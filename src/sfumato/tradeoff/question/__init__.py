"""Choosing one point of a map: bounds, recipients, the curve and its knee, the publisher's questions."""
