# The worker and the command line of simfleet. Build: docker build -t simfleet .
#   docker run --rm --read-only --cap-drop=ALL -e SIMFLEET_REDIS_URL=redis://… simfleet    # the worker
#   docker run --rm simfleet simfleet --help                                              # a command
# It needs a Redis (SIMFLEET_REDIS_URL): the image holds none. compose.yaml shows the whole.

# One place for the version; for a build that can be repeated to the byte, give a digest: --build-arg NODE_IMAGE=node@sha256:…
ARG NODE_IMAGE=node:24.21.0-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY tools tools
RUN ["npm", "ci", "--ignore-scripts"]
COPY tsconfig.json tsconfig.build.json ./
COPY scripts/build.mjs scripts/dashboard.mjs scripts/program.mjs scripts/third-party.mjs scripts/
COPY web web
COPY src src
RUN ["node", "scripts/build.mjs"]

FROM ${NODE_IMAGE}
# The version of package.json, the commit, and the time of the build (RFC 3339): docs/deploy.md#container.
ARG VERSION=""
ARG REVISION=""
ARG CREATED=""
LABEL org.opencontainers.image.title="simfleet" \
      org.opencontainers.image.description="Looks after a fleet of SIMs through a rate-limited connectivity API" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
# The program needs no packages, so the tools that install them are gone. /data belongs to the user of the process.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
      /usr/local/bin/yarn /usr/local/bin/yarnpkg /opt/yarn-v* \
    && install -d -o 10001 -g 10001 -m 0700 /data
RUN ["ln", "-s", "/app/dist/cli.js", "/usr/local/bin/simfleet"]
WORKDIR /app
COPY package.json LICENSE ./
COPY config config
COPY --from=build /app/dist dist
ENV NODE_ENV=production \
    SIMFLEET_DATA_DIR=/data
# A number, so that "must not run as root" can be checked without looking into the image.
USER 10001:10001
VOLUME ["/data"]
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.SIMFLEET_HTTP_PORT || 8080}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# The worker, unless a command is given: `simfleet` is on the PATH.
ENTRYPOINT []
CMD ["node", "/app/dist/worker.js"]
