"""Commands that write a first draft for a person to correct: a study, a policy."""
