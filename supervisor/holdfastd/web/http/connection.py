"""One connection to a browser or a program, with bounds on the time for which it may hold up the process."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from holdfastd.control.open_connections import OpenConnection, OpenConnections

_COMING = (h11.IDLE, h11.SEND_BODY)
_NOT_ANSWERED = (h11.IDLE, h11.SEND_RESPONSE)


class PageConnection(H11Protocol):
    """A client that sends a request slowly, or does not read its answer, loses its connection.

    So does one that gives way to others, see OpenConnections.
    """

    request_within = 20.0  # seconds from the beginning of a connection, or of a later request, to the request's end
    read_within = 30.0  # seconds for which a client may read nothing while an answer waits

    _request: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None

    def __init__(self, connections: OpenConnections, place: OpenConnection, **given: Any) -> None:
        super().__init__(**given)
        self._places, self._place = connections, place

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._place.end = transport.abort
        self._begin_request()
        if self._place.is_over:  # it gave way just now
            transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._request is None:
            self._begin_request()
        super().data_received(data)
        if self.conn.their_state not in _COMING:
            self._end_request()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._request is None and self.cycle.response_complete:
            self._places.idle(self._place)

    def _begin_request(self) -> None:
        self._request = self.loop.call_later(self.request_within, self.transport.abort)
        self._places.half(self._place)

    def _end_request(self) -> None:
        self._request = _without(self._request)
        self._places.answering(self._place)

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is broken, unless its answer has begun. What runs for it is told that nobody waits."""
        if self.conn.our_state in _NOT_ANSWERED:
            super().send_400_response(msg)
        else:
            self.transport.close()
        if self.cycle is not None:  # pyright: ignore[reportUnnecessaryComparison]  # as it is before the first request
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def _should_upgrade(self) -> bool:
        return False  # there are no web sockets: whoever asks for one is answered as any

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stall = self._stall or self.loop.call_later(self.read_within, self.transport.abort)
        if self._request is None:
            self._places.idle(self._place)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stall = _without(self._stall)
        if self._request is None and not self.cycle.response_complete:
            self._places.answering(self._place)

    def connection_lost(self, exc: Exception | None) -> None:
        self._request, self._stall = _without(self._request), _without(self._stall)
        self._places.over(self._place)
        super().connection_lost(exc)


def _without(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    """Cancels a timer; there is none then."""
    if timer is not None:
        timer.cancel()
    return None
