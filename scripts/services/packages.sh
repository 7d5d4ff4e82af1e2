# shellcheck shell=bash
# Installs Debian packages without letting them start anything.

# Servers are in folders that are not in an ordinary user's PATH.
extend_path() {
  local folder
  for folder in /usr/local/sbin /usr/sbin /sbin /usr/lib/postgresql/*/bin; do
    [[ ! -d $folder || :$PATH: == *:$folder:* ]] || PATH=$PATH:$folder
  done
}
extend_path

may_install() { ((EUID == 0)) && command -v apt-get >/dev/null && [[ -z ${HERMES_TEST_NO_INSTALL:-} ]]; }

# Prints one `program=package` per line; PART_needs lists what the part runs.
missing_programs() {
  local need
  for need in $("$1_needs"); do
    command -v "${need%%=*}" >/dev/null || printf '%s\n' "$need"
  done
}

# Prints one line with the reason why a part cannot start here, or nothing if it can.
missing_of() {
  local part=$1 programs=() packages=()
  mapfile -t programs < <(missing_programs "$part")
  if ((${#programs[@]} > 0)); then
    mapfile -t packages < <(printf '%s\n' "${programs[@]#*=}" | sort -u)
    printf 'missing %s: install Debian package %s, or run scripts/test-services start as root where apt-get may install' \
      "${programs[*]%%=*}" "${packages[*]}"
  elif uses_images "$part"; then
    if ((EUID != 0)); then
      printf 'needs root'
    else
      missing_images
    fi
  fi
}

install_for() {
  local part packages=() started_at=$EPOCHREALTIME
  may_install || return 0
  mapfile -t packages < <(for part; do
    missing_programs "$part"
    ! uses_images "$part" || missing_image_tools
  done | sed 's/.*=//' | sort -u)
  ((${#packages[@]} > 0)) || return 0
  say "installing ${packages[*]}"
  if install_packages "${packages[@]}" >"$FOLDER/install.log" 2>&1; then
    say "installed ($(elapsed "$started_at") s)"
  else
    say "not everything could be installed: $(last_line "$FOLDER/install.log") (log: $FOLDER/install.log)"
  fi
  extend_path
  hash -r
}

# Runs apt-get; if it fails, once more with fresh package lists.
with_fresh_lists() {
  "$@" && return
  apt_get update >&2 && "$@"
}

apt_get() { DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@" 9>&-; }

# Called in a condition, where bash ignores `set -e`, so the steps are chained explicitly.
install_packages() (
  mkdir -p /run/lock && exec 8>/run/lock/hermes-test-install.lock && flock 8 || return
  trap 'exit 130' INT TERM HUP
  trap release_packages EXIT
  hold_packages || return
  # --no-remove: packages of the machine, such as docker-ce, are never removed for ours.
  options=(install -y --no-install-recommends --no-remove -o Dpkg::Options::=--force-confold)
  if ! with_fresh_lists apt_get "${options[@]}" "$@" 8>&-; then
    local package code=0
    for package; do
      apt_get "${options[@]}" "$package" 8>&- || code=1
    done
    return "$code"
  fi
)

POLICY=/usr/sbin/policy-rc.d
POLICY_SAVED=$POLICY.hermes-test-saved
CLUSTER_CONF=/etc/postgresql-common/createcluster.d/hermes-test.conf

# Until release_packages, installed services do not start, and PostgreSQL creates no cluster.
hold_packages() {
  release_packages # a killed install may have left its files
  if [[ -e $POLICY || -L $POLICY ]]; then mv "$POLICY" "$POLICY_SAVED" || return; fi
  printf '#!/bin/sh\n# hermes-test-services\nexit 101\n' >"$POLICY" && chmod 755 "$POLICY" &&
    mkdir -p "${CLUSTER_CONF%/*}" && printf 'create_main_cluster = false\n' >"$CLUSTER_CONF"
}

release_packages() {
  if grep -qs '^# hermes-test-services$' "$POLICY"; then rm -f "$POLICY"; fi
  if [[ -e $POLICY_SAVED || -L $POLICY_SAVED ]]; then mv "$POLICY_SAVED" "$POLICY"; fi
  rm -f "$CLUSTER_CONF"
  rmdir --parents --ignore-fail-on-non-empty "${CLUSTER_CONF%/*}" 2>/dev/null || true
}
