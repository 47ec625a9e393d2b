"""The cheapest safe pattern, with a proof: the second model of Salazar-González, solved by cuts."""

from discreet.methods.suppress.optimal.optimal import Optimal

__all__ = ["Optimal"]
