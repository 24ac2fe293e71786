# Holdfast without a handler: docker build -t holdfast . An image of your own adds it: FROM holdfast, COPY agent.py /srv/agent/
ARG PYTHON=3.13
FROM python:${PYTHON}-slim AS build
WORKDIR /source
COPY . .
RUN python -m venv /opt/holdfast && /opt/holdfast/bin/pip install --no-cache-dir ".[embedded,postgres]" \
    && /opt/holdfast/bin/pip uninstall --yes pip

FROM python:${PYTHON}-slim
COPY --from=build /opt/holdfast /opt/holdfast
# Folders that other users can write are refused, so these belong to the user, with mode 0700.
RUN useradd --uid 10001 --no-create-home --home-dir /var/lib/holdfast --shell /usr/sbin/nologin holdfast \
    && install -d -o holdfast -g holdfast -m 0700 /var/lib/holdfast /run/holdfast && mkdir -p /srv/agent
ENV PATH=/opt/holdfast/bin:$PATH PYTHONUNBUFFERED=1 \
    HOLDFAST_RUNTIME_DIR=/run/holdfast HOLDFAST_STATE_DIR=/var/lib/holdfast
USER 10001:10001
WORKDIR /srv/agent
# Data of the embedded store; with REDIS_URL nothing is kept here.
VOLUME /var/lib/holdfast
# SIGTERM drains within HOLDFAST_DRAIN_TIMEOUT (90 s): docker stop --time 120.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=20s --timeout=10s --start-period=60s --retries=3 CMD ["supervisor", "status"]
ENTRYPOINT ["supervisor"]
CMD ["start"]
