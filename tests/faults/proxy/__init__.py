"""A proxy between clients and a real server that understands RESP and does to a chosen request what networks do.

with Proxy(folder / "proxy.sock", server) as proxy:
    rule = proxy.on("pull", Action.CUT)   # the next pull is executed, its answer never arrives
    ...
    rule.wait()                           # until that has happened
"""

from tests.faults.proxy.proxy import Proxy
from tests.faults.proxy.rules import Action, Rule

__all__ = ["Action", "Proxy", "Rule"]
