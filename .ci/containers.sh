# Sourced by .ci/run: a container engine, where Debian's packages can bring one, and the images that the Dockerfile and
# compose.yaml name. Where an engine runs already, it is used as it is and pulls them.
# shellcheck shell=bash

engine_folder=""

start_engine() {
  docker info >/dev/null 2>&1 && return 0
  [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || return 1
  if ! command -v dockerd >/dev/null; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends docker.io iptables docker-compose || return 1
  fi
  engine_folder=$(mktemp -d /var/tmp/simfleet-engine.XXXXXX)
  export DOCKER_HOST="unix://$engine_folder/docker.sock"
  dockerd --data-root "$engine_folder/data" --exec-root "$engine_folder/exec" --pidfile "$engine_folder/pid" \
    --host "$DOCKER_HOST" >"$engine_folder/log" 2>&1 &
  for _ in $(seq 60); do
    docker info >/dev/null 2>&1 && return 0
    sleep 0.5
  done
  tail -n 20 "$engine_folder/log"
  return 1
}

stop_engine() {
  [ -f "$engine_folder/pid" ] || return 0
  local pid
  pid=$(cat "$engine_folder/pid")
  kill "$pid" && tail --pid="$pid" -f /dev/null
  umount "$engine_folder"/exec/netns/* 2>/dev/null
  rm -rf "$engine_folder"
}

# Without a registry: the same names for images of Debian's packages, with this repository's Node and this machine's npm.
make_images() {
  local node redis context
  node=$(sed -n 's/^ARG NODE_IMAGE=//p' Dockerfile)
  redis=$(sed -n 's/^ *image: \(redis:.*\)/\1/p' compose.yaml)
  if has_image "$node" && has_image "$redis"; then return 0; fi
  command -v debootstrap >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq debootstrap || return 1
  context=$(mktemp -d /var/tmp/simfleet-images.XXXXXX)
  debootstrap --variant=minbase --include=ca-certificates bookworm "$context/debian" >"$context/log" 2>&1 || return 1
  cp -a /etc/ssl/certs/ca-certificates.crt "$context/debian/etc/ssl/certs/" # of a network that opens TLS
  tar -C "$context/debian" -c . | docker import --change "ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt" \
    - simfleet-ci-debian >/dev/null || return 1
  mkdir "$context/node"
  cp "$(realpath node_modules/.bin/node)" "$context/node/node"
  cp -a "$(npm root --global)/npm" "$context/node/npm"
  docker build --quiet --tag "$node" --file - "$context/node" <<'END' || return 1
FROM simfleet-ci-debian
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
END
  docker build --quiet --network=host --tag "$redis" - <<'END' || return 1
FROM simfleet-ci-debian
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends redis-server && install -d -o 999 -g 999 /data
WORKDIR /data
END
  rm -rf "$context"
}

has_image() {
  docker image inspect "$1" >/dev/null 2>&1 || timeout 60 docker pull --quiet "$1" >/dev/null 2>&1
}
