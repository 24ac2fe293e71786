"""All settings of Holdfast in one frozen tree. The constructor takes values and reads nothing; `load` reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SecretStr
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from holdfast_config import redis_urls, service_folders, values
from holdfast_config.lanes import Lane
from holdfast_config.origin import without_secrets
from holdfast_config.postgres_settings import PostgresSettings
from holdfast_config.postgres_settings import checked as postgres_url
from holdfast_config.redis_settings import RedisSettings
from holdfast_config.submit_settings import SubmitSettings
from holdfast_config.trust import ServiceFolder
from holdfast_config.values import lasting, one_of, whole

STORE_SOCKET = "store.sock"
QUEUE = "bindu:tasks"
MEMORY = "memory://"
SOURCES = "sources"  # the argument of Settings that holds the sources to read

# What follows the choices when somebody asks for a back end that this version does not have.
_SCHEDULERS = "; leave it out to use the embedded store"
_STORAGES = "; redis keeps task data where the queue is, postgres keeps it in a database, too"

_Scheduler = Annotated[Literal["redis", "memory"], one_of("redis", "memory", hint=_SCHEDULERS)]
# Documented of the agent framework: `memory` keeps the task data nowhere else than where the queue is.
_IN_QUEUE = BeforeValidator(lambda value: "redis" if str(value).strip().lower() == "memory" else value)
_Storage = Annotated[Literal["redis", "postgres"], one_of("redis", "postgres", hint=_STORAGES), _IN_QUEUE]
_Protocol = Annotated[Literal["http/protobuf", "grpc"], one_of("http/protobuf", "grpc")]
_Fence = Annotated[Literal["lease", "strict"], one_of("lease", "strict")]
_Format = Annotated[Literal["auto", "json", "console"], one_of("auto", "json", "console")]
_Level = Annotated[
    Literal["debug", "info", "warning", "error", "critical"], one_of("debug", "info", "warning", "error", "critical")
]
_Long = Annotated[float, lasting(0.001)]
_Any = Annotated[float, lasting()]


def _state_dir() -> Path:
    return values.folder(service_folders.state_dir().value)


def _runtime_dir() -> Path:
    return values.folder(service_folders.runtime_dir().value)


def _only_queue(earlier: dict[str, Any]) -> tuple[Lane, ...]:
    return (Lane(str(earlier.get("queue_name", QUEUE))),)


def _told(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret else None


def _set(default: object, description: str) -> Any:
    return Field(default=default, description=description)


class Settings(BaseSettings):
    """Read once by `load`, then handed out in parts. Durations are seconds."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, validate_default=False)

    handler: values.Text | None = _set(None, "What runs the tasks, as module:attribute; else agent:handle.")
    exec: values.Text | None = _set(None, "Instead of a handler: the command that runs each task as a process.")
    exec_env: values.Variables | None = _set(
        None, "Variables that the command gets though the supervisor uses them itself, joined by commas."
    )
    application: values.Name | None = _set(
        None,
        "The name that owns the schedules of the code: what the code declares no longer is removed; none: it stays.",
    )
    app_dir: values.Place = _set(Path(), "The folder that the handler is imported from.")
    workers: Annotated[int, whole(1, 10_000)] = _set(1, "How many worker processes to keep alive.")
    concurrency: Annotated[int, whole(1, 1_000)] = _set(10, "How many tasks one worker runs at once.")
    reload: values.Switch = _set(False, "For development: load code and settings anew whenever a file of them changes.")
    preload: values.Switch = _set(False, "Import the handler once, before workers are forked: they share its memory.")
    burst: values.Switch = _set(False, "Work until nothing is left, then end; what is delayed for later stays.")

    scheduler_type: _Scheduler = _set(
        "redis", "What holds the queue: redis, which said here needs a URL or a host, or memory, in one process."
    )
    storage_type: _Storage = _set(
        "redis", "What keeps the task data: redis alone, or postgres, from which a lost Redis is rebuilt."
    )
    database_url: SecretStr | None = _set(
        None, "For storage in PostgreSQL: postgresql://user@host:port/database; better a credential file."
    )
    database_keep: _Any = _set(7_776_000.0, "How long PostgreSQL remembers a finished task; Redis forgets it earlier.")
    redis_url: values.RedisUrl | None = _set(
        None, "The Redis to use, one, by Sentinel or a Cluster (docs/stores.md); none given: the embedded store."
    )
    redis_host: values.Host | None = _set(None, "Instead of a URL: the server's name or address.")
    redis_port: Annotated[int, whole(1, 65_535)] = _set(6379, "Instead of a URL: the server's port.")
    redis_username: values.Text | None = _set(None, "The ACL user, where the URL does not name one.")
    redis_password: SecretStr | None = _set(None, "The password, where the URL has none; better a credential file.")
    redis_ca_file: values.Folder | None = _set(
        None, "For TLS: who signs the servers' certificates, if not the system's."
    )
    redis_cert_file: values.Folder | None = _set(None, "For TLS: our own certificate, where servers ask for one.")
    redis_key_file: values.Folder | None = _set(None, "For TLS: the key of our certificate, if it is not in that file.")
    redis_sentinel_username: values.Text | None = _set(None, "The ACL user of the sentinels themselves.")
    redis_sentinel_password: SecretStr | None = _set(None, "The password of the sentinels themselves.")
    redis_db: Annotated[int, whole(0, 1_000_000)] = _set(0, "Instead of a URL: the number of the database.")
    redis_max_connections: Annotated[int, whole(1, 10_000)] = _set(10, "The most connections one process opens.")
    redis_poll_timeout: _Long | None = _set(
        None, "The longest that a worker's BLPOP waits; none given: 60 s while a steward answers, else 1 s."
    )
    redis_answer_timeout: _Long = _set(5.0, "How long an answer of Redis may take before its connection is given up.")
    submit_attempts: Annotated[int, whole(1, 1_000)] | None = _set(
        None, "How often a producer asks a Redis that is away; none given: only submit_timeout counts."
    )
    submit_timeout: _Long = _set(10.0, "How long a producer goes on asking a Redis that is away.")
    submit_wait: _Any = _set(0.05, "The longest pause before a producer asks again; it doubles with each one.")
    submit_wait_cap: _Any = _set(2.0, "What that pause may grow to.")
    queue_name: values.Queue = _set(QUEUE, "The public queue, a Redis list; its name is also the namespace.")
    lanes: values.Lanes = Field(
        default_factory=_only_queue,
        description="The lists workers take from, with weights: a=6,b=3 or A:A:B; else the queue alone.",
    )
    strict: values.Switch = _set(False, "Not by weight: always take from the first lane that holds something.")
    handler_rates: values.Rates | None = _set(
        None, "How often named handlers may be started, by all hosts together: name=100/m,other=5/s."
    )

    state_dir: values.Folder = Field(
        default_factory=_state_dir, description="What outlives a restart: the data of the embedded store."
    )
    runtime_dir: values.RuntimeFolder = Field(
        default_factory=_runtime_dir, description="Sockets and locks; every command finds its supervisor here."
    )
    control_group_verbs: values.Verbs = _set(
        ("status", "workers"),
        "What the service's group may ask of the control socket: status, workers, scale, reload, stop, or none.",
    )

    task_timeout: _Long | None = _set(None, "A task that runs longer is cancelled; none: no limit.")
    max_attempts: Annotated[int, whole(1, 1_000)] = _set(3, "Runs of a task that fails, before it is given up.")
    max_crashes: Annotated[int, whole(2, 1_000)] = _set(
        3, "Runs of a task after the first death of its worker; one more death ends it as a dead letter."
    )
    retry_base: _Any = _set(1.0, "The pause before the first retry; it doubles with each one.")
    retry_cap: _Any = _set(300.0, "The longest pause before a retry.")
    max_tasks: Annotated[int, whole(1, 1_000_000_000)] | None = _set(
        None, "A worker is replaced after this many tasks, or up to a tenth fewer; none: never."
    )
    max_memory: values.Size | None = _set(
        None, "A worker is replaced before it has grown to this size, as in 500MB; none: never."
    )
    drain_timeout: _Any = _set(90.0, "How long running tasks may go on after a stop; then they are put back.")
    hang_timeout: Annotated[float, lasting(2.0)] = _set(
        60.0, "A process whose event loop is silent for so long is killed; at least 2 s."
    )
    boot_timeout: _Long = _set(60.0, "How long a worker may take to become ready.")
    lease: _Long = _set(15.0, "How long a silent worker of a silent host is still believed to be alive.")
    lease_grace: _Any = _set(5.0, "How long after its lease a silent worker is looked at once more.")
    unknown_handler_timeout: _Long = _set(
        600.0, "How long a task waits for a worker that has its handler before it fails."
    )
    webhook_url: values.Webhook | None = _set(
        None, "Told when a task ends or asks for something, unless it has its own; off: no more, for all hosts."
    )
    webhook_secret: values.WebhookSecret | None = _set(
        None, "Signs what webhooks are told: whsec_ and base64, or any text; better a credential file."
    )
    webhook_allow_private: values.Switch = _set(False, "Let webhooks reach addresses that are not public.")
    webhook_timeout: _Long = _set(10.0, "How long telling a webhook may take.")
    webhook_attempts: Annotated[int, whole(1, 1_000)] = _set(12, "How often telling a webhook is tried.")
    scan_interval: _Long = _set(5.0, "The longest that a schedule can be late when a wake-up is lost.")
    time_file: values.Folder | None = _set(
        None, "Where the steward writes the Unix time of its last look, for others to read; none: nowhere."
    )
    keep: _Any = _set(604_800.0, "How long a finished task can be asked about.")
    max_message_bytes: Annotated[int, whole(1, 536_870_912)] = _set(
        1_048_576, "A larger message is set aside as unreadable."
    )
    max_pending_messages: Annotated[int, whole(1, 1_000)] = _set(
        1_000, "Messages that may wait for one task; one more is refused."
    )
    fence: _Fence = _set("lease", "At the end of a lease: lease keeps running, strict ends the process.")

    log_level: _Level = _set("info", "debug, info, warning, error or critical.")
    log_format: _Format = _set("auto", "json, console, or auto: console on a terminal.")
    otlp_endpoint: values.HttpUrl | None = _set(None, "The OpenTelemetry collector; none: nothing is sent.")
    otlp_protocol: _Protocol = _set("http/protobuf", "How to speak to the collector: http/protobuf or grpc.")

    @property
    def embedded(self) -> bool:
        """Neither memory nor a Redis URL nor a host was given: the supervisor starts a store of its own."""
        return self.scheduler_type != "memory" and self.redis_url is None and self.redis_host is None

    @property
    def store_url(self) -> str:
        """The URL of the store with its login, which must not be shown: see `redis.masked_url`."""
        if self.scheduler_type == "memory":
            return MEMORY
        if self.redis_url is None and self.redis_host is None:
            return redis_urls.of_socket(self.runtime_dir / STORE_SOCKET)
        server = self.redis_url or redis_urls.of_server(self.redis_host or "", self.redis_port, self.redis_db)
        full = redis_urls.with_login(server, self.redis_username, _told(self.redis_password))
        return redis_urls.with_options(
            full,
            {
                "ssl_ca_certs": self.redis_ca_file,
                "ssl_certfile": self.redis_cert_file,
                "ssl_keyfile": self.redis_key_file,
                "sentinel_username": self.redis_sentinel_username,
                "sentinel_password": _told(self.redis_sentinel_password),
            },
        )

    @property
    def runtime_folder(self) -> ServiceFolder:
        """The folder of sockets and locks, to be checked before it is used."""
        return ServiceFolder(self.runtime_dir, "runtime_dir" in self.model_fields_set, "--runtime-dir")

    @property
    def state_folder(self) -> ServiceFolder:
        """The folder of what outlives a restart, to be checked before it is used."""
        return ServiceFolder(self.state_dir, "state_dir" in self.model_fields_set, "--state-dir")

    @property
    def lane_names(self) -> tuple[str, ...]:
        """The lanes in their order."""
        return tuple(lane.name for lane in self.lanes)

    @property
    def weights(self) -> tuple[int, ...]:
        """One for each lane; none where the first that holds something is always served."""
        return () if self.strict else tuple(lane.weight for lane in self.lanes)

    def timeout_of(self, lane: str) -> float | None:
        """Seconds that a run of this lane's tasks may take, where neither task nor handler has a timeout; None: for
        ever. A lane of the queue may be called by its list, too."""
        beside = f"{{{self.queue_name}}}:lane:"
        same = (one for one in self.lanes if one.name.removeprefix(beside) == lane.removeprefix(beside))
        own = next((one.timeout for one in same), None)
        return self.task_timeout if own is None else own

    @property
    def redis(self) -> RedisSettings:
        """What a Redis client is made from."""
        return RedisSettings(
            self.store_url,
            self.redis_max_connections,
            self.queue_name,
            answer_timeout=self.redis_answer_timeout,
            max_pending_messages=self.max_pending_messages,
            folder=self.runtime_folder if self.embedded else None,
            submit=SubmitSettings(self.submit_attempts, self.submit_timeout, self.submit_wait, self.submit_wait_cap),
        )

    @property
    def postgres(self) -> PostgresSettings | None:
        """What a PostgreSQL client is made from; None where Redis alone keeps the tasks."""
        if self.storage_type != "postgres" or self.database_url is None:
            return None
        return PostgresSettings(postgres_url(self.database_url.get_secret_value()), self.database_keep)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, without_secrets(name or "", value) if isinstance(value, str) else value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The sources that `load` passes as the one argument SOURCES, the strongest first; a constructor that is called
        with values reads nothing else."""
        sources: tuple[PydanticBaseSettingsSource, ...] = init_settings().get(SOURCES, (init_settings,))
        return sources
