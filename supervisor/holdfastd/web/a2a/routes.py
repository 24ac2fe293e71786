"""The addresses of the agent."""

from __future__ import annotations

from starlette.routing import Route

from holdfastd.web.a2a.agent_card import CARD_PATHS, PATH, agent_card
from holdfastd.web.a2a.endpoint import endpoint

ROUTES = (*(Route(path, agent_card) for path in CARD_PATHS), Route(PATH, endpoint, methods=["POST"]))
