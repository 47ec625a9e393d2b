"""The cheapest safe pattern, with a proof: the second model of Salazar-González, solved by cuts."""
