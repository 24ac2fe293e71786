"""Worker classes for jobs. A job is an id with a recurrence rule; a worker takes jobs round robin from its lanes.

from holdfast.timeline import RoundRobin, StopWork

class Worker(RoundRobin):
    def work(self, jobid):
        if not crawl(jobid):
            raise StopWork("gone for good")
        return 30  # a CONTINUE runs again in 30 s
"""

from __future__ import annotations

from holdfast.timeline.worker_classes import Bike, RoundRobin, StopWork, UnsetJob, Worker

__all__ = ["Worker", "RoundRobin", "StopWork", "UnsetJob", "Bike"]
