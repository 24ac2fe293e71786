"""A store made of parts, one for each role: whole stores are put together from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.store import protocol


@dataclass(frozen=True, slots=True)
class StoreParts:
    """The parts of one store. Another store may take some and replace others (`dataclasses.replace`)."""

    server: protocol.ServerStore
    worker: protocol.WorkerStore
    steward: protocol.StewardStore
    producer: protocol.ProducerStore
    tasks: protocol.TaskStore
    unreadable: protocol.UnreadableStore
    admin: protocol.AdminStore
    lanes: protocol.LaneStore
    hosts: protocol.HostStore
    events: protocol.EventStore
    inspect: protocol.InspectStore
    schedules: protocol.ScheduleStore
    batches: protocol.BatchStore
    webhooks: protocol.WebhookStore
    conversations: protocol.ConversationStore
    activity: protocol.ActivityStore
    web_sessions: protocol.WebSessionStore
    bulk_changes: protocol.BulkChangeStore
    handlers: protocol.HandlerStore
    rollups: protocol.RollupStore
    metrics: protocol.MetricsStore


class ComposedStore:
    """Implements `holdfast.store.protocol.Store` but for `aclose`: each call of a store is that of the part named here.

    The calls are bound once, so a call of the store costs nothing more than one of its part.
    """

    def __init__(self, parts: StoreParts) -> None:
        self.parts = parts

        self.ping = parts.server.ping
        self.preflight = parts.server.preflight
        self.address = parts.server.address

        self.register = parts.worker.register
        self.reconnected = parts.worker.reconnected
        self.pull = parts.worker.pull
        self.add_samples = parts.worker.add_samples
        self.earlier = parts.worker.earlier
        self.step = parts.worker.step
        self.sleep = parts.worker.sleep
        self.emit = parts.worker.emit
        self.inbox = parts.worker.inbox
        self.admit = parts.worker.admit
        self.renew = parts.worker.renew
        self.listen = parts.worker.listen
        self.listen_and_pull = parts.worker.listen_and_pull
        self.wake = parts.worker.wake

        self.vouch = parts.steward.vouch
        self.recover = parts.steward.recover
        self.last_request = parts.steward.last_request
        self.take_back = parts.steward.take_back
        self.reap = parts.steward.reap
        self.promote = parts.steward.promote
        self.suspects = parts.steward.suspects
        self.unserved = parts.steward.unserved
        self.left = parts.steward.left
        self.peek = parts.steward.peek
        self.ring = parts.steward.ring
        self.tend = parts.steward.tend
        self.look_at_front = parts.steward.look_at_front
        self.note_wrong_end = parts.steward.note_wrong_end
        self.limit_messages = parts.steward.limit_messages
        self.audit = parts.steward.audit
        self.wait_alarm = parts.steward.wait_alarm
        self.run_id = parts.steward.run_id
        self.epoch = parts.steward.epoch
        self.latest = parts.steward.latest
        self.clock_ms = parts.steward.clock_ms

        self.submit = parts.producer.submit
        self.submit_with_options = parts.producer.submit_with_options
        self.message = parts.producer.message
        self.cancel = parts.producer.cancel
        self.pause = parts.producer.pause
        self.resume = parts.producer.resume
        self.settled = parts.producer.settled
        self.emitted = parts.producer.emitted

        self.get = parts.tasks.get
        self.tasks = parts.tasks.tasks
        self.search = parts.tasks.search
        self.task_ids = parts.tasks.task_ids
        self.place = parts.tasks.place
        self.steps = parts.tasks.steps
        self.step_names = parts.tasks.step_names
        self.parents = parts.tasks.parents
        self.children = parts.tasks.children
        self.small_results = parts.tasks.small_results
        self.emitted_parts = parts.tasks.emitted_parts
        self.retry = parts.tasks.retry
        self.dead_letters = parts.tasks.dead_letters
        self.purge_dead = parts.tasks.purge_dead
        self.forget_tasks = parts.tasks.forget_tasks
        self.trim = parts.tasks.trim
        self.obliterate = parts.tasks.obliterate

        self.unreadable = parts.unreadable.unreadable
        self.unreadable_at = parts.unreadable.unreadable_at
        self.readmit = parts.unreadable.readmit
        self.forget_unreadable = parts.unreadable.forget_unreadable
        self.purge_unreadable = parts.unreadable.purge_unreadable

        self.counts = parts.admin.counts
        self.workers = parts.admin.workers
        self.incarnations = parts.admin.incarnations
        self.key_count = parts.admin.key_count
        self.strays = parts.admin.strays
        self.peek_entries = parts.admin.peek_entries
        self.clear = parts.admin.clear

        self.lanes = parts.lanes.lanes
        self.service = parts.lanes.service
        self.bound = parts.lanes.bound
        self.declare = parts.lanes.declare
        self.pause_lane = parts.lanes.pause_lane
        self.resume_lane = parts.lanes.resume_lane

        self.quiet_host = parts.hosts.quiet_host
        self.resume_host = parts.hosts.resume_host
        self.halt_host = parts.hosts.halt_host
        self.end_halt = parts.hosts.end_halt
        self.quiet_hosts = parts.hosts.quiet_hosts
        self.last_halt = parts.hosts.last_halt

        self.events = parts.events.events
        self.events_before = parts.events.events_before

        self.snapshot = parts.inspect.snapshot
        self.examine = parts.inspect.examine

        self.put_schedule = parts.schedules.put_schedule
        self.due_schedules = parts.schedules.due_schedules
        self.schedules_soon = parts.schedules.schedules_soon
        self.set_schedule_aside = parts.schedules.set_schedule_aside
        self.fire = parts.schedules.fire
        self.pause_schedule = parts.schedules.pause_schedule
        self.resume_schedule = parts.schedules.resume_schedule
        self.remove_schedule = parts.schedules.remove_schedule
        self.schedule = parts.schedules.schedule
        self.schedules = parts.schedules.schedules
        self.schedules_of = parts.schedules.schedules_of
        self.retire_schedules = parts.schedules.retire_schedules
        self.undeclared_schedules = parts.schedules.undeclared_schedules
        self.schedule_history = parts.schedules.schedule_history
        self.wait_fires = parts.schedules.wait_fires

        self.batch = parts.batches.batch
        self.batches = parts.batches.batches
        self.batch_tasks = parts.batches.batch_tasks
        self.seal_batch = parts.batches.seal_batch
        self.cancel_batch = parts.batches.cancel_batch
        self.look_at_batches = parts.batches.look_at_batches

        self.take_notices = parts.webhooks.take_notices
        self.note_receiver = parts.webhooks.note_receiver
        self.notice_done = parts.webhooks.notice_done
        self.notice_later = parts.webhooks.notice_later
        self.outbox = parts.webhooks.outbox
        self.notice_now = parts.webhooks.notice_now
        self.set_webhook = parts.webhooks.set_webhook
        self.set_webhook_of_task = parts.webhooks.set_webhook_of_task
        self.wait_notices = parts.webhooks.wait_notices

        self.note = parts.conversations.note
        self.note_state = parts.conversations.note_state
        self.noted = parts.conversations.noted
        self.noted_state = parts.conversations.noted_state
        self.add = parts.conversations.add
        self.about = parts.conversations.about
        self.cancel_if = parts.conversations.cancel_if
        self.conversation = parts.conversations.conversation
        self.conversations = parts.conversations.conversations
        self.write_conversation = parts.conversations.write_conversation
        self.clear_conversation = parts.conversations.clear_conversation
        self.feedback = parts.conversations.feedback
        self.push = parts.conversations.push
        self.pushes = parts.conversations.pushes
        self.forget_push = parts.conversations.forget_push

        self.note_activity = parts.activity.note_activity
        self.activity_before = parts.activity.activity_before

        self.begin_web_session = parts.web_sessions.begin_web_session
        self.end_web_session = parts.web_sessions.end_web_session
        self.has_web_session = parts.web_sessions.has_web_session

        self.begin_bulk = parts.bulk_changes.begin_bulk
        self.note_bulk = parts.bulk_changes.note_bulk
        self.stop_bulk = parts.bulk_changes.stop_bulk
        self.resume_bulk = parts.bulk_changes.resume_bulk
        self.bulk_change = parts.bulk_changes.bulk_change
        self.bulk_changes = parts.bulk_changes.bulk_changes

        self.publish_handlers = parts.handlers.publish_handlers
        self.published_handler = parts.handlers.published_handler
        self.published_handlers = parts.handlers.published_handlers

        self.minutes = parts.rollups.minutes
        self.rollups = parts.rollups.rollups
        self.keep_rollup = parts.rollups.keep_rollup

        self.report_duty = parts.metrics.report_duty
        self.gauges = parts.metrics.gauges
