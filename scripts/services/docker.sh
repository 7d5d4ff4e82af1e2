# shellcheck shell=bash
# A Docker engine with its own data, containerd, socket and bridge.

docker_needs() { echo dockerd=docker.io docker=docker.io ip=iproute2; }

DOCKER=$FOLDER/docker
DOCKER_SOCKET=$DOCKER/docker.sock
FORWARDING=/proc/sys/net/ipv4/ip_forward
DOCKER_BRIDGE=hermes-$(printf '%s' "$FOLDER" | cksum | { read -r sum _ && printf '%08x' "$sum"; })

docker_client() { timeout "${LIMIT:-120}" "$(<"$DOCKER/client")" -H "unix://$DOCKER_SOCKET" "$@"; }

docker_version() { LIMIT=10 docker_client version --format '{{.Server.Version}}'; }

docker_details() {
  printf '"socket":%s,"host":%s,"client":%s,%s,%s' "$(json_string "$DOCKER_SOCKET")" \
    "$(json_string "unix://$DOCKER_SOCKET")" "$(json_string "$(<"$DOCKER/client")")" "$(images_json)" "$(process_json docker)"
}

docker_start() {
  require_images docker
  printf '{}\n' >"$DOCKER/daemon.json" # keeps the machine's own settings out
  make_bridge
  cat "$FORWARDING" >"$DOCKER/forwarding" # the engine changes it; docker_stop restores it
  launch docker dockerd --config-file "$DOCKER/daemon.json" --data-root "$DOCKER/data" --exec-root "$DOCKER/exec" \
    --pidfile "$DOCKER/dockerd.pid" --host "unix://$DOCKER_SOCKET" --bridge "$DOCKER_BRIDGE" \
    --iptables=false --ip-masq=false
  wait_for docker 60 find_client
  docker_client import --change 'CMD ["/bin/bash"]' "$BASH_TAR" "$BASH_IMAGE:latest"
  docker_client import --change 'CMD ["/bin/sh"]' "$BUSYBOX_TAR" "$BUSYBOX_IMAGE:latest"
}

# Several clients may be installed, and a new client may refuse an old engine.
find_client() {
  local client
  for client in $(type -ap docker); do
    printf '%s' "$client" >"$DOCKER/client"
    if docker_version; then return; fi
  done
  return 1
}

# docker0 would be shared with any other engine on the machine, and would remain after ours has stopped.
make_bridge() {
  local third
  third=$(free_subnet)
  ip link add "$DOCKER_BRIDGE" type bridge
  ip addr add "198.18.$third.1/24" dev "$DOCKER_BRIDGE"
  ip link set "$DOCKER_BRIDGE" up
}

# 198.18.0.0/15 is reserved for benchmarks, so it hides no real network.
free_subnet() {
  local third
  for third in $(shuf -i 0-255); do
    [[ -n $(ip -4 route show root "198.18.$third.0/24") ]] || break
  done
  printf '%s' "$third"
}

docker_stop() {
  [[ -e $DOCKER ]] || return 0
  # Running containers would delay the end of the engine.
  if is_alive docker; then remove_containers >/dev/null 2>&1 || true; fi
  end_server docker TERM
  if [[ -s $DOCKER/forwarding ]]; then cat "$DOCKER/forwarding" >"$FORWARDING"; fi
  remove_docker_bridges
  remove_folder "$DOCKER"
}

remove_containers() {
  local ids
  mapfile -t ids < <(docker_client ps -aq)
  ((${#ids[@]} == 0)) || docker_client rm -fv "${ids[@]}"
}

# Networks of tests leave a bridge named after their id; the engine's database proves that it is ours.
remove_docker_bridges() {
  local link
  for link in /sys/class/net/br-* "/sys/class/net/$DOCKER_BRIDGE"; do
    link=${link##*/}
    if [[ $link == "$DOCKER_BRIDGE" ]] || grep -qsaF "${link#br-}" "$DOCKER/data/network/files/local-kv.db"; then
      ip link delete "$link" 2>/dev/null || true
    fi
  done
}
