# The worker and the command line of simfleet. Build: docker build -t simfleet .
#   docker run --rm --read-only --cap-drop=ALL -e SIMFLEET_REDIS_URL=redis://… simfleet    # the worker
#   docker run --rm simfleet simfleet --help                                              # a command
# It needs a Redis (SIMFLEET_REDIS_URL): the image holds none. compose.yaml shows the whole.

# One place for the version; for a build that can be repeated to the byte, give a digest: --build-arg NODE_IMAGE=node@sha256:…
ARG NODE_IMAGE=node:24.21.0-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN ["npm", "ci", "--ignore-scripts"]
COPY tsconfig.json tsconfig.build.json ./
COPY scripts/build.mjs scripts/dashboard.mjs scripts/program.mjs scripts/
COPY web web
COPY src src
RUN ["node", "scripts/build.mjs"]

# No development packages, no install scripts, and not the optional packages: they bring a second Node.
FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN ["npm", "ci", "--omit=dev", "--omit=optional", "--ignore-scripts"]

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="simfleet" \
      org.opencontainers.image.description="Looks after a fleet of SIMs through a rate-limited connectivity API" \
      org.opencontainers.image.licenses="Apache-2.0"
# Nothing installs packages at run time, so the tools that could are gone. /data belongs to the user of the process.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
      /usr/local/bin/yarn /usr/local/bin/yarnpkg /opt/yarn-v* \
    && install -d -o 10001 -g 10001 -m 0700 /data
RUN ["ln", "-s", "/app/dist/cli.js", "/usr/local/bin/simfleet"]
WORKDIR /app
COPY package.json LICENSE ./
COPY config config
COPY --from=packages /app/node_modules node_modules
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
