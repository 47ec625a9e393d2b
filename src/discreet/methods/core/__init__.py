"""What methods of mathematical programming share: one framework for all of them, as in Salazar-González (2002)."""
