# shellcheck shell=bash
# Podman with its own storage. It has no server, so this part has no process.

podman_needs() { echo podman=podman runc=runc catatonit=catatonit ip=iproute2; }

PODMAN=$FOLDER/podman
PODMAN_BRIDGES=(cni-podman0 podman0) # of the default network, for the two network backends

podman_client() {
  CONTAINERS_CONF=$PODMAN/containers.conf CONTAINERS_STORAGE_CONF=$PODMAN/storage.conf timeout "${LIMIT:-120}" podman "$@"
}

podman_version() { LIMIT=10 podman_client info --format '{{.Version.Version}}'; }

podman_details() {
  local conf storage
  conf=$(json_string "$PODMAN/containers.conf") storage=$(json_string "$PODMAN/storage.conf")
  printf '"client":%s,"containersConf":%s,"storageConf":%s,"env":{"CONTAINERS_CONF":%s,"CONTAINERS_STORAGE_CONF":%s},%s' \
    "$(json_string "$(command -v podman)")" "$conf" "$storage" "$conf" "$storage" "$(images_json)"
}

podman_start() {
  require_images podman
  local bridge
  for bridge in "${PODMAN_BRIDGES[@]}"; do
    if [[ -e /sys/class/net/$bridge ]]; then touch "$PODMAN/had-$bridge"; fi
  done
  cat >"$PODMAN/storage.conf" <<CONF
[storage]
driver = "overlay"
graphroot = "$PODMAN/storage"
runroot = "$PODMAN/run"
CONF
  # runc: crun refuses hybrid cgroups. Limits may only be lowered in a confined machine.
  # Locks in files: the default is one memory segment for all storages of a user.
  cat >"$PODMAN/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
tmp_dir = "$PODMAN/tmp"
[network]
network_config_dir = "$PODMAN/networks"
CONF
  podman_client import --change 'CMD ["/bin/bash"]' "$BASH_TAR" "$BASH_IMAGE:latest"
  podman_client import --change 'CMD ["/bin/sh"]' "$BUSYBOX_TAR" "$BUSYBOX_IMAGE:latest"
}

podman_stop() {
  [[ -e $PODMAN ]] || return 0
  if [[ -e $PODMAN/storage ]]; then
    podman_client rm -af -t 0 >/dev/null 2>&1 || true
    podman_client network prune -f >/dev/null 2>&1 || true
    remove_bridges
  fi
  remove_folder "$PODMAN"
}

# Removes the bridge of the default network, which remains after its last container, unless other containers use it.
remove_bridges() {
  local bridge
  for bridge in "${PODMAN_BRIDGES[@]}"; do
    if [[ -e /sys/class/net/$bridge && ! -e $PODMAN/had-$bridge && -z $(ls "/sys/class/net/$bridge/brif") ]]; then
      ip link delete "$bridge"
    fi
  done
}
