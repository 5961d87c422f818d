"""What the article concludes about a decoding step's launches, about the way through a server, and about its peers."""

from __future__ import annotations

from templates.claims.alike import agrees
from templates.claims.register import Register
from templates.facts.edition import Edition
from templates.truth import Outcome, Truth, above, at_least, below, every

register = Register()
claim = register.claim


@claim
def graphs_pay(e: Edition) -> Truth:
    """With every model, replaying a step from a CUDA graph pays against launching each of its kernels."""
    return every((at_least(model.graphs.gain, e.thresholds.pays) for model in e.overall.switched), e.overall.path)


@claim
def gaps_are_launches(e: Edition) -> Truth:
    """Where most of a step passes without any kernel, most of that time goes away once the step is replayed."""
    most = e.thresholds.most
    gapes = [(model, below(model.graphs.without_kernel_share, most)) for model in e.overall.switched]
    closed = [~gap | at_least(model.graphs.closed, most) for model, gap in gapes if gap.outcome is not Outcome.REFUTED]
    return every(closed, e.overall.path)


@claim
def server_later(e: Edition) -> Truth:
    """Through the server, the first token comes later than from the engine as a library."""
    return every((above(batch.served_first_token, batch.first_token) for batch in e.overall.served), e.overall.path)


@claim
def peers_agree(e: Edition) -> Truth:
    """Every rate agrees with what the engine's own tool and its own clock say."""
    return every((agrees(ratio, e.thresholds.peer) for ratio in e.overall.peer_ratios), e.overall.path)
