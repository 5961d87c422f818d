"""What the article concludes about a turn of a conversation."""

from __future__ import annotations

from templates.claims.register import Register
from templates.facts.edition import Edition
from templates.truth import Truth, above, at_least, at_most

register = Register()
claim = register.claim


@claim
def synthesis_most_of_turn(e: Edition) -> Truth:
    """Synthesis, played when whole, is most of what follows recognition."""
    return at_least(e.turn.synthesis_share, e.thresholds.most)


@claim
def streaming_changes_turn(e: Edition) -> Truth:
    """Played from the first patch on, synthesis takes a smaller share."""
    return above(e.turn.synthesis_share, e.turn.streaming_share)


@claim
def recognition_light_in_turn(e: Edition) -> Truth:
    """Of the wait for the answer's sound, recognition is a small part, whichever way the sound is played."""
    whole, streamed = e.turn.recognition_share, e.turn.recognition_share_streaming
    return at_most(whole, e.thresholds.light) & at_most(streamed, e.thresholds.light)
