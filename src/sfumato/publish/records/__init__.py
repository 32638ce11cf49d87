"""Publishing records in place of records: perturbed or synthetic ones, of our own makers."""
