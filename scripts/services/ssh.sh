# shellcheck shell=bash
# An SSH server on loopback with its own keys; the current user logs in.

ssh_needs() { echo sshd=openssh-server ssh=openssh-client ssh-keygen=openssh-client; }

SSH=$FOLDER/ssh

ssh_client() {
  timeout 10 ssh -F none -o BatchMode=yes -o UserKnownHostsFile="$SSH/known_hosts" -o IdentitiesOnly=yes \
    -i "$SSH/identity" -p "$(<"$SSH/port")" "$(id -un)@127.0.0.1" "$@"
}

# Logs in, which proves more than an open port: only our server has the key in known_hosts.
ssh_version() { ssh_client true && cat "$SSH/version"; }

ssh_details() {
  printf '"host":"127.0.0.1","port":%s,"user":%s,"identityFile":%s,"knownHosts":%s,%s' "$(<"$SSH/port")" \
    "$(json_string "$(id -un)")" "$(json_string "$SSH/identity")" "$(json_string "$SSH/known_hosts")" "$(process_json ssh)"
}

ssh_start() {
  local port greeting
  port=$(free_port)
  printf '%s' "$port" >"$SSH/port"
  ssh-keygen -q -t ed25519 -N '' -C hermes-test -f "$SSH/host_key"
  ssh-keygen -q -t ed25519 -N '' -C hermes-test -f "$SSH/identity"
  cp "$SSH/identity.pub" "$SSH/authorized_keys"
  printf '[127.0.0.1]:%s %s\n' "$port" "$(<"$SSH/host_key.pub")" >"$SSH/known_hosts"
  # StrictModes would refuse keys below a world-writable folder such as /tmp.
  mkdir -p "$SSH/home"
  cat >"$SSH/sshd_config" <<CONF
ListenAddress 127.0.0.1:$port
HostKey "$SSH/host_key"
AuthorizedKeysFile "$SSH/authorized_keys"
PidFile none
# A separate home: the user's startup files may wait for locks that a killed session left behind.
SetEnv "HOME=$SSH/home"
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
MaxSessions 10
MaxStartups 100
AcceptEnv LANG LC_*
PrintMotd no
Subsystem sftp internal-sftp
CONF
  if ((EUID == 0)); then install -d -m 755 /run/sshd; fi
  launch ssh "$(command -v sshd)" -D -e -f "$SSH/sshd_config"
  wait_for ssh 20 ssh_client true
  read -r greeting <"/dev/tcp/127.0.0.1/$port"
  printf '%s\n' "${greeting//[[:cntrl:]]/}" >"$SSH/version"
}

ssh_stop() {
  [[ -e $SSH ]] || return 0
  end_server ssh TERM
  remove_folder "$SSH"
}
