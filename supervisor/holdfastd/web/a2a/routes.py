"""The addresses of the agent."""

from __future__ import annotations

from starlette.routing import Route

from holdfastd.web.a2a.agent_card import CARD_PATHS, EXTENDED_PATH, PATH, agent_card, extended_agent_card
from holdfastd.web.a2a.endpoint import endpoint

ROUTES = (
    *(Route(path, agent_card) for path in CARD_PATHS),
    Route(EXTENDED_PATH, extended_agent_card),
    # Clients post to the URL of the card, some with a slash behind it, and follow no redirect.
    *(Route(path, endpoint, methods=["POST"]) for path in (PATH, f"{PATH}/")),
)
