"""All settings of Holdfast. The constructor takes values; only `load` reads files and the environment."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, SecretStr

from holdfast_config import names, redis_urls, service_folders, values
from holdfast_config.lanes import Lane
from holdfast_config.origin import without_secrets
from holdfast_config.service_folders import Project
from holdfast_config.store_settings import PostgresSettings, RedisSettings, SubmitSettings
from holdfast_config.store_settings import checked as postgres_url
from holdfast_config.trust import ServiceFolder
from holdfast_config.values import duration, integer, one_of

STORE_SOCKET = service_folders.STORE_SOCKET
QUEUE = "bindu:tasks"
MEMORY = "memory://"

# The ends of the error texts for an unknown back end.
_SCHEDULERS = "; leave it out to use the embedded store"
_STORAGES = "; redis keeps task data where the queue is, postgres keeps it in a database, too"

_Scheduler = Annotated[Literal["redis", "memory"], one_of("redis", "memory", hint=_SCHEDULERS)]
# For the agent framework, the storage type `memory` means that the task data is kept where the queue is, like `redis`.
_IN_QUEUE = BeforeValidator(lambda value: "redis" if str(value).strip().lower() == "memory" else value)
_Storage = Annotated[Literal["redis", "postgres"], one_of("redis", "postgres", hint=_STORAGES), _IN_QUEUE]
_Protocol = Annotated[Literal["http/protobuf", "grpc"], one_of("http/protobuf", "grpc")]
_TraceMode = Annotated[Literal["link", "parent"], one_of("link", "parent")]
_ProxyRole = Annotated[Literal["none", "viewer", "operator"], one_of("none", "viewer", "operator")]
_Loop = Annotated[Literal["uvloop", "asyncio"], one_of("uvloop", "asyncio")]
_Fence = Annotated[Literal["lease", "strict"], one_of("lease", "strict")]
_Format = Annotated[Literal["auto", "json", "console"], one_of("auto", "json", "console")]
_Level = Annotated[
    Literal["debug", "info", "warning", "error", "critical"], one_of("debug", "info", "warning", "error", "critical")
]
_Thousand = Annotated[int, integer(1, 1_000)]
_TenThousand = Annotated[int, integer(1, 10_000)]
_Positive = Annotated[float, duration(0.001)]
_Duration = Annotated[float, duration()]


def _default_folder(field: str) -> Path:
    return values.folder(service_folders.default_folders(Project.at(Path()))[field].value)


def _only_queue(earlier: dict[str, Any]) -> tuple[Lane, ...]:
    return (Lane(str(earlier.get("queue_name", QUEUE))),)


def _plain(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret else None


def _field(default: object, description: str) -> Any:
    return Field(default=default, description=description)


class Settings(BaseModel):
    """The settings. `load` makes them once, and other code gets only the parts that it needs. Durations are seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, validate_default=False)

    handler: values.Text | None = _field(
        None, "Handler that runs the tasks, as module:attribute. Default: agent:handle."
    )
    exec: values.Text | None = _field(None, "Command that runs each task as a process, in place of a handler.")
    exec_env: values.Variables | None = _field(
        None,
        "Secret variables, joined by commas, that the command of exec inherits. Default: the command gets none.",
    )
    application: values.Name | None = _field(
        None, "Owner of the schedules declared in code. If set, schedules that the code no longer declares are removed."
    )
    app_dir: values.Place = _field(Path(), "Folder that the handler is imported from.")
    workers: _TenThousand = _field(1, "Number of worker processes.")
    concurrency: _Thousand = _field(
        10, "Number of tasks that one worker runs at the same time. A worker may claim further short tasks ahead."
    )
    reload: values.Switch = _field(
        False, "Reload code and settings when one of their files changes. For development only."
    )
    preload: values.Switch = _field(
        True, "Import the handler once, in a process that forks the workers. They share the memory of that process."
    )
    loop: _Loop = _field(
        "uvloop",
        "Event loop of the workers: uvloop, or asyncio for libraries that change the loop, such as nest_asyncio.",
    )
    burst: values.Switch = _field(False, "Exit when no task can run now. Delayed tasks stay in the store.")

    scheduler_type: _Scheduler = _field(
        "redis",
        "Back end of the queue: redis or memory (one process). If you set redis, also set REDIS_URL or REDIS_HOST.",
    )
    storage_type: _Storage = _field(
        "redis",
        "Store of the task data: redis, or postgres: Redis with a copy in PostgreSQL that restores a lost Redis.",
    )
    database_url: SecretStr | None = _field(
        None, "PostgreSQL database, as postgresql://user@host:port/database. Prefer a credential file."
    )
    database_keep: _Duration = _field(
        7_776_000.0, "Time that PostgreSQL keeps a finished task. The setting keep is the time for Redis."
    )
    redis_url: values.RedisUrl | None = _field(
        None, "URL of the Redis server, Sentinels or Cluster (docs/stores.md). Default: the embedded store."
    )
    redis_host: values.Host | None = _field(None, "Name or address of the Redis server, in place of a URL.")
    redis_port: Annotated[int, integer(1, 65_535)] = _field(6379, "Port of the Redis server, in place of a URL.")
    redis_username: values.Text | None = _field(None, "ACL user, if the URL names none.")
    redis_password: SecretStr | None = _field(None, "Redis password, if the URL has none. Prefer a credential file.")
    redis_ca_file: values.Folder | None = _field(
        None, "TLS: file of the authority that signs the servers' certificates. Default: the authorities of the system."
    )
    redis_cert_file: values.Folder | None = _field(
        None, "TLS: file of the client certificate, for servers that require one."
    )
    redis_key_file: values.Folder | None = _field(
        None, "TLS: file of the client certificate's key, if the certificate's file does not contain the key."
    )
    redis_sentinel_username: values.Text | None = _field(None, "ACL user for the Sentinels.")
    redis_sentinel_password: SecretStr | None = _field(None, "Password for the Sentinels.")
    redis_db: Annotated[int, integer(0, 1_000_000)] = _field(0, "Number of the Redis database, in place of a URL.")
    redis_max_connections: _TenThousand = _field(10, "Maximum number of Redis connections of one process.")
    redis_poll_timeout: _Positive | None = _field(
        None, "Maximum time that a worker waits in BLPOP for work. Default: 60 s while a steward is alive, else 1 s."
    )
    redis_answer_timeout: _Positive = _field(5.0, "Time to wait for a reply of Redis before the connection is closed.")
    submit_attempts: _Thousand | None = _field(
        None,
        "Maximum number of attempts of a submit; then StoreUnavailableError. Default: only submit_timeout limits it.",
    )
    submit_timeout: _Positive = _field(
        10.0, "Time that a submit is retried before it fails with StoreUnavailableError."
    )
    submit_wait: _Duration = _field(
        0.05, "Maximum pause before the first retry of a submit. The maximum doubles with each retry."
    )
    submit_wait_cap: _Duration = _field(2.0, "Upper limit of the pause between retries of a submit.")
    queue_name: values.Queue = _field(
        QUEUE, "Name of the public queue, a Redis list. The names of all other keys contain this name."
    )
    lanes: values.Lanes = Field(
        default_factory=_only_queue,
        description="Lanes that workers take tasks from, with weights: a=6,b=3 or A:A:B. Default: the public queue.",
    )
    strict: values.Switch = _field(
        False, "Ignore the weights of lanes: workers take tasks from the first lane that has any."
    )
    handler_rates: values.Rates | None = _field(
        None, "Maximum rates at which all hosts together run tasks of a handler: name=100/m,other=5/s."
    )

    state_dir: values.Folder = Field(
        default_factory=partial(_default_folder, "state_dir"),
        description="Folder for the data of the embedded store, kept over restarts. Default: the project's own.",
    )
    runtime_dir: values.RuntimeFolder = Field(
        default_factory=partial(_default_folder, "runtime_dir"),
        description="Folder for sockets and locks. Commands find the supervisor by it. Default: the project's own.",
    )
    control_group_verbs: values.Verbs = _field(
        ("status", "workers"),
        "Commands allowed to members of the service's group: status, workers, scale, reload, stop, or none.",
    )

    trust_folders: values.Folders = _field(
        (),
        "Folders, joined by commas, or none. Root runs their code and settings although other users can change them.",
    )

    task_timeout: _Positive | None = _field(
        None, "Maximum time of one run of a task. A longer run is canceled. Default: no limit."
    )
    max_attempts: _Thousand = _field(3, "Maximum number of runs of a task that fails.")
    max_crashes: Annotated[int, integer(2, 1_000)] = _field(
        3,
        "Further runs of a task whose worker died in its first run. If a worker dies in each of them, too, the task is "
        "a dead letter.",
    )
    retry_base: _Duration = _field(1.0, "Pause before the first retry of a task. The pause doubles with each retry.")
    retry_cap: _Duration = _field(300.0, "Maximum pause before a retry of a task.")
    max_tasks: Annotated[int, integer(1, 1_000_000_000)] | None = _field(
        None, "Replace a worker after this many tasks, or up to a tenth fewer. Default: never."
    )
    max_memory: values.Size | None = _field(
        None, "Replace a worker before its memory grows to this size, such as 500MB. Default: never."
    )
    drain_timeout: _Duration = _field(
        90.0, "Time for running tasks to finish at a stop. Unfinished tasks then return to the queue."
    )
    hang_timeout: Annotated[float, duration(2.0)] = _field(
        60.0, "Kill a process whose event loop does not respond for this time (2 s or more)."
    )
    boot_timeout: _Positive = _field(60.0, "Maximum time that a worker takes to become ready.")
    lease: _Positive = _field(15.0, "Time for which a worker without heartbeats is believed to be alive.")
    lease_grace: _Duration = _field(
        5.0, "Further time without heartbeats after the lease, before the worker's tasks are put back."
    )
    unknown_handler_timeout: _Positive = _field(
        600.0, "Time that a task waits for a worker that has its handler. Then the task fails."
    )
    webhook_url: values.Webhook | None = _field(
        None, "URL called when a task without a webhook of its own ends or needs input. off removes the URL."
    )
    webhook_secret: values.WebhookSecret | None = _field(
        None, "Key that signs webhook calls: whsec_ and base64, or any text. Prefer a credential file."
    )
    webhook_allow_private: values.Switch = _field(False, "Allow webhooks to addresses that are not public.")
    webhook_timeout: _Positive = _field(10.0, "Maximum time of one webhook call.")
    webhook_attempts: _Thousand = _field(12, "Maximum number of attempts of one webhook call.")
    scan_interval: _Positive = _field(
        5.0, "Look for due schedules at least this often, also if the store's wake-up call is lost."
    )
    time_file: values.Folder | None = _field(
        None, "File to which the steward writes the Unix time of its last scan, for monitoring. Default: none."
    )
    keep: _Duration = _field(604_800.0, "Time that a finished task is kept and can be looked up.")
    max_message_bytes: Annotated[int, integer(1, 536_870_912)] = _field(
        1_048_576, "Maximum size of a message; a larger one is set aside as unreadable."
    )
    max_pending_messages: _Thousand = _field(
        1_000, "Maximum number of messages that wait for one task. A further message is refused."
    )
    fence: _Fence = _field(
        "lease", "What a worker does when its lease has ended: lease lets its tasks run on, strict ends the process."
    )

    log_level: _Level = _field("info", "Minimum level of the log: debug, info, warning, error or critical.")
    log_format: _Format = _field(
        "auto", "Format of the log: json, console, or auto (console on a terminal, else json)."
    )
    capture_output: values.Switch = _field(
        True,
        "Log, with the task's id, what a handler prints and warns of. Off: it goes to stdout and stderr as usual.",
    )
    metrics: values.Listen | None = _field(
        None,
        "Address of metrics for Prometheus: PORT (on loopback; 0: a free port), HOST:PORT or unix:PATH. Default: none.",
    )
    web: values.Listen | None = _field(
        None, "Address of the dashboard: PORT (on loopback; 0: a free port), HOST:PORT or unix:PATH. Default: none."
    )
    web_token: values.WebToken | None = _field(
        None, "Token to log in to the dashboard. Prefer a credential file. Default: a new token at each start."
    )
    web_viewer_token: values.WebToken | None = _field(
        None, "Token for a login to the dashboard that can only read. Prefer a credential file."
    )
    web_users_file: values.Folder | None = _field(
        None,
        "File of the dashboard's users, one line for each; `supervisor web-user` prints such a line. Default: none.",
    )
    web_trust_proxy: values.Proxy | None = _field(
        None, "HEADER@ADDRESS: the proxy at this address (or network, or unix) names the user in this header."
    )
    web_proxy_role: _ProxyRole = _field(
        "none", "Role of users whom the proxy names and the users file does not: none, viewer or operator."
    )
    web_redact: values.FieldPatterns = _field(
        values.REDACTED, "Names of fields whose values the dashboard hides, with * for any letters; none: hide nothing."
    )
    web_cert_file: values.Place | None = _field(
        None, "File of the TLS certificate of the dashboard, with its chain. Default: none."
    )
    web_key_file: values.Place | None = _field(
        None, "File of the key of the dashboard's TLS certificate. Default: none."
    )
    web_hosts: values.HostNames | None = _field(
        None, "Host names by which browsers may reach the dashboard, besides localhost and IP addresses. Default: none."
    )
    web_read_only: values.Switch = _field(False, "Let the dashboard change nothing, not even for operators.")
    web_a2a: values.Switch = _field(
        False, "Serve the queue, beside the dashboard, as an agent for clients of A2A 1.0 and 0.3."
    )
    web_a2a_name: values.Text = _field("Holdfast", "Name of the A2A agent (--web-a2a) on its public card.")
    web_a2a_description: values.Text = _field(
        "Runs tasks that survive failures.", "Description of the A2A agent (--web-a2a) on its public card."
    )
    web_a2a_url: values.HttpUrl | None = _field(
        None, "Public URL of the A2A agent, ending in /a2a. Default: the address at which a client gets the card."
    )
    web_a2a_lane: values.Queue | None = _field(
        None, "Lane for tasks that clients of the A2A agent submit. Default: the public queue."
    )
    otlp_endpoint: values.HttpUrl | None = _field(None, "URL of the OpenTelemetry collector. Default: nothing is sent.")
    otlp_protocol: _Protocol = _field("http/protobuf", "Protocol of the collector: http/protobuf or grpc.")
    trace_mode: _TraceMode = _field(
        "link",
        "Trace of a task: link (a trace of its own with a link to the producer's) or parent (part of the producer's).",
    )
    trace_baggage: values.Switch = _field(False, "Carry the producer's OpenTelemetry baggage to the handler.")
    trace_url: values.TraceUrl | None = _field(
        None,
        "URL of a trace, with {trace_id} and, if you want, {span_id}. The command `why` shows the URL. Default: none.",
    )

    _project: Project | None = PrivateAttr(None)
    _files: tuple[Path, ...] = PrivateAttr(())

    @property
    def embedded(self) -> bool:
        """True if the supervisor starts its own store, because the settings name neither memory nor a Redis server."""
        return self.scheduler_type != "memory" and self.redis_url is None and self.redis_host is None

    @property
    def loop_options(self) -> dict[str, bool]:
        """The options of `run_handlers_loop` for the event loop of a worker."""
        return {"use_uvloop": self.loop == "uvloop"}

    @property
    def store_url(self) -> str:
        """The URL of the store with its password. Never show this URL; show `redis.masked_url` instead."""
        if self.scheduler_type == "memory":
            return MEMORY
        if self.redis_url is None and self.redis_host is None:
            return redis_urls.of_socket(self.runtime_dir / STORE_SOCKET)
        server = self.redis_url or redis_urls.of_server(self.redis_host or "", self.redis_port, self.redis_db)
        full = redis_urls.with_login(server, self.redis_username, _plain(self.redis_password))
        return redis_urls.with_options(
            full,
            {
                "ssl_ca_certs": self.redis_ca_file,
                "ssl_certfile": self.redis_cert_file,
                "ssl_keyfile": self.redis_key_file,
                "sentinel_username": self.redis_sentinel_username,
                "sentinel_password": _plain(self.redis_sentinel_password),
            },
        )

    @property
    def runtime_folder(self) -> ServiceFolder:
        """The folder of sockets and locks. Call `check` on it before use."""
        return self._folder("runtime_dir", self.runtime_dir)

    @property
    def state_folder(self) -> ServiceFolder:
        """The folder of data that outlives a restart. Call `check` on it before use."""
        return self._folder("state_dir", self.state_dir)

    @property
    def project(self) -> Project | None:
        """The project for which these settings were loaded; None if they were made without `load`."""
        return self._project

    @property
    def files(self) -> tuple[Path, ...]:
        """The files from which these settings were loaded."""
        return self._files

    def belong_to(self, project: Project, files: tuple[Path, ...]) -> None:
        """Record the project for which these settings were loaded, and the files from which they came."""
        self._project, self._files = project, files

    def _folder(self, field: str, path: Path) -> ServiceFolder:
        named = field in self.model_fields_set
        is_of_project = not named and self._project is not None and path.name == self._project.name
        return ServiceFolder(path, named, names.flag(field), path.parent if is_of_project else None)

    @property
    def lane_names(self) -> tuple[str, ...]:
        """The names of the lanes, in the order of the setting."""
        return tuple(lane.name for lane in self.lanes)

    @property
    def weights(self) -> tuple[int, ...]:
        """The weights of the lanes. Empty with `strict`: workers then always take a task from the first lane that has
        one."""
        return () if self.strict else tuple(lane.weight for lane in self.lanes)

    def timeout_of(self, lane: str) -> float | None:
        """The seconds that a run of a task in this lane may take, if neither the task nor its handler has a timeout.
        None: no limit. `lane`: the lane's name or the key of its list."""
        beside = f"{{{self.queue_name}}}:lane:"
        same = (other for other in self.lanes if other.name.removeprefix(beside) == lane.removeprefix(beside))
        own = next((other.timeout for other in same), None)
        return self.task_timeout if own is None else own

    @property
    def redis(self) -> RedisSettings:
        """The part of the settings for a Redis client."""
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
        """The part of the settings for a PostgreSQL client; None if only Redis keeps the tasks."""
        if self.storage_type != "postgres" or self.database_url is None:
            return None
        return PostgresSettings(postgres_url(self.database_url.get_secret_value()), self.database_keep)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, without_secrets(name or "", value) if isinstance(value, str) else value
