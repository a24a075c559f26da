"""Measures of how unequally a tokenizer treats languages, by their definitions.

Sources: Petrov et al. 2023 (premium), Foroutan et al. 2025, arXiv 2508.04796 (Gini coefficient of costs).
"""

from collections.abc import Mapping


def premiums(costs: Mapping[str, float]) -> dict[str, float]:
    """Returns each language's cost divided by the least one; a cost is the tokens that the same text takes.

    >>> premiums({"en": 2, "hi": 5})
    {'en': 1.0, 'hi': 2.5}
    """
    return {name: cost / min(costs.values()) for name, cost in costs.items()}


def gini(costs: Mapping[str, float]) -> float:
    """Returns the Gini coefficient: 0 if all costs are equal, near 1 if one language bears nearly all of the cost.

    >>> gini({"en": 2, "hi": 2}), gini({"en": 1, "hi": 3})
    (0.0, 0.25)
    """
    values = list(costs.values())
    differences = sum(abs(one - other) for one in values for other in values)
    return differences / (2 * len(values) * sum(values))
