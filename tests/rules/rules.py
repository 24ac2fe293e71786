"""All rules whose removal a test must notice."""

from __future__ import annotations

from tests.rules.a2a import A2A
from tests.rules.dashboard import DASHBOARD
from tests.rules.ledger import LEDGER
from tests.rules.parent import PARENT
from tests.rules.producer import PRODUCER
from tests.rules.steward import STEWARD
from tests.rules.telemetry import TELEMETRY
from tests.rules.worker import WORKER

RULES = [*WORKER, *STEWARD, *PARENT, *PRODUCER, *TELEMETRY, *DASHBOARD, *A2A, *LEDGER]
