"""How true a release is to its original: marginals, associations, models, and whether the two can be told apart."""
