"""What the article concludes about models that were spread over several cards."""

from __future__ import annotations

from templates.claims.register import Register
from templates.facts.edition import Edition
from templates.truth import Truth, at_least, every

register = Register()
claim = register.claim


@claim
def cards_raise_ceiling(e: Edition) -> Truth:
    """With several cards the ceiling of every model grows almost in proportion to their number."""
    return every((at_least(each.ceiling_part, e.thresholds.proportionate) for each in e.cards.models), e.cards.path)


@claim
def cards_raise_speed(e: Edition) -> Truth:
    """With several cards every model decodes one request faster, almost in proportion to their number."""
    return every((at_least(each.gain_part, e.thresholds.proportionate) for each in e.cards.models), e.cards.path)
