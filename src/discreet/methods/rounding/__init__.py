"""Publishing multiples of a base instead of the true values."""
