"""How unequally a tokenizer treats languages, by its definitions.

Sources: Petrov et al. 2023 (premium), Foroutan et al. 2025, arXiv 2508.04796 (Gini coefficient of costs).
"""

from collections.abc import Mapping


def premiums(costs: Mapping[str, float]) -> dict[str, float]:
    """How many times the least cost each language pays; the cost is what one text takes in tokens.

    >>> premiums({"en": 2, "hi": 5})
    {'en': 1.0, 'hi': 2.5}
    """
    return {name: cost / min(costs.values()) for name, cost in costs.items()}


def gini(costs: Mapping[str, float]) -> float:
    """The Gini coefficient: 0 where all pay the same, towards 1 where one pays for all.

    >>> gini({"en": 2, "hi": 2}), gini({"en": 1, "hi": 3})
    (0.0, 0.25)
    """
    values = list(costs.values())
    differences = sum(abs(one - other) for one in values for other in values)
    return differences / (2 * len(values) * sum(values))
