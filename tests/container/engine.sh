#!/usr/bin/env bash
# Prepares a container engine in FOLDER for a Debian or Ubuntu machine that has none: podman and buildah from the
# distribution, with storage of their own. Where no registry can be reached, a stand-in for the base image is made from
# the distribution's packages: the same Python, another origin. Prints nothing but errors; safe to run again.
#
#   sudo tests/container/engine.sh FOLDER
#   TRAPGATE_ENGINE_ROOT=FOLDER make container
set -euo pipefail

folder=$(mkdir -p "${1:?usage: engine.sh FOLDER}" && cd "$1" && pwd)
base=docker.io/library/python:3.11-slim
# The distribution whose python3 is the base image's.
release=bookworm

if [ "$(id -u)" != 0 ]; then
  echo "engine.sh: needs root" >&2
  exit 1
fi

install() {
  for name in "$@"; do
    command -v "$name" >/dev/null && continue
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null
    apt-get install -qq --yes --no-install-recommends "$@" >/dev/null
    return
  done
}

install buildah podman runc

mkdir -p "$folder/root" "$folder/run"
# Without systemd and without the right to raise limits or make networks, as inside another container.
cat > "$folder/containers.conf" <<'CONF'
[containers]
netns = "host"
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]

[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
CONF
export CONTAINERS_CONF="$folder/containers.conf"
engine=(podman --root "$folder/root" --runroot "$folder/run" --storage-driver overlay)

if ! "${engine[@]}" image exists "$base" && ! timeout 120 "${engine[@]}" pull --quiet "$base" >/dev/null 2>&1; then
  install debootstrap
  system="$folder/system"
  rm -rf "$system"
  debootstrap --variant=minbase --include=ca-certificates,git,python3,python3-pip,python3-venv "$release" "$system" >&2
  # What the base image has, where it has it.
  ln -s /usr/bin/python3 "$system/usr/local/bin/python"
  rm -f "$system"/usr/lib/python3.*/EXTERNALLY-MANAGED
  # A machine behind a proxy of its own knows an authority that the packages do not.
  cp /etc/ssl/certs/ca-certificates.crt "$system/etc/ssl/certs/ca-certificates.crt"
  tar --directory "$system" --create . | "${engine[@]}" import --quiet - "$base" >/dev/null
  rm -rf "$system"
fi
