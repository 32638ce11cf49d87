"""The user's own analysis: whether its conclusions hold on a release."""
