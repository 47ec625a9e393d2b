"""Other values that add up: cell perturbation and controlled tabular adjustment."""
