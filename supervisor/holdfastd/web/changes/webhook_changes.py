"""Changes of webhooks that wait: try one now, give one up."""

from __future__ import annotations

from holdfastd.operations.webhooks import GIVE_UP_WEBHOOK, RETRY_WEBHOOK
from holdfastd.web.changes.change import change_of

WEBHOOK_CHANGES = (change_of(RETRY_WEBHOOK, "/webhooks"), change_of(GIVE_UP_WEBHOOK, "/webhooks"))
