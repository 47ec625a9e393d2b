"""Jobs of τ-ARGUS (``.arb``): read, run, converted into job files, and compared with what τ-ARGUS made of them."""
