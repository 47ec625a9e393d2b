"""What follows from what is published: the linear algebra that methods and the audit share."""
