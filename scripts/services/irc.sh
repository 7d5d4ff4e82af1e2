# shellcheck shell=bash
# An IRC server on loopback, without TLS and without lookups.

irc_needs() { echo ngircd=ngircd; }

IRC=$FOLDER/irc

irc_version() { irc_answers && ngircd --version | head -n 1; }

irc_details() {
  printf '"host":"127.0.0.1","port":%s,%s' "$(<"$IRC/port")" "$(process_json irc)"
}

# Logs in as a client, which proves more than an open port.
irc_answers() {
  local line
  exec {irc}<>"/dev/tcp/127.0.0.1/$(<"$IRC/port")" || return
  printf 'NICK probe%s\r\nUSER probe 0 * :probe\r\nQUIT\r\n' "$BASHPID" >&"$irc"
  while read -r -t 5 line <&"$irc"; do
    [[ $line == *" 001 "* ]] && exec {irc}>&- && return
  done
  exec {irc}>&-
  return 1
}

irc_start() {
  local port
  port=$(free_port)
  printf '%s' "$port" >"$IRC/port"
  cat >"$IRC/ngircd.conf" <<CONF
[Global]
Name = irc.test.invalid
Info = server of the tests
AdminEMail = none@test.invalid
Listen = 127.0.0.1
Ports = $port
MotdPhrase = test
[Limits]
MaxConnectionsIP = 0
MaxPenaltyTime = 0
MaxNickLength = 30
PingTimeout = 120
[Options]
DNS = no
Ident = no
PAM = no
CloakHost = host.test.invalid
CONF
  launch irc "$(command -v ngircd)" --nodaemon --config "$IRC/ngircd.conf"
  wait_for irc 20 irc_answers
}

irc_stop() {
  [[ -e $IRC ]] || return 0
  end_server irc TERM
  remove_folder "$IRC"
}
