"""What attackers can infer from a publication: the linear algebra that the methods and the audit share."""
