# shellcheck shell=bash
# A PostgreSQL cluster with default durability; the password is random.

postgres_needs() { echo initdb=postgresql postgres=postgresql psql=postgresql; }

POSTGRES=$FOLDER/postgres

# PostgreSQL refuses to run as root: fills `as_user` with the command prefix that changes the user.
choose_user() {
  as_user=()
  ((EUID == 0)) || return 0
  local user=nobody
  if getent passwd postgres >/dev/null; then user=postgres; fi
  as_user=(setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups)
  chown -R "$user:" "$POSTGRES"
}

postgres_version() { timeout 10 psql -XAtc 'show server_version' "$(<"$POSTGRES/url")"; }

postgres_details() {
  printf '"url":%s,"port":%s,"socketFolder":%s,%s' "$(json_string "$(<"$POSTGRES/url")")" "$(<"$POSTGRES/port")" \
    "$(json_string "$POSTGRES")" "$(process_json postgres)"
}

postgres_start() {
  local port password as_user
  port=$(free_port)
  password=$(od -An -N 16 -tx1 /dev/urandom | tr -d ' \n')
  printf '%s' "$port" >"$POSTGRES/port"
  printf 'postgres://hermes:%s@127.0.0.1:%s/postgres' "$password" "$port" >"$POSTGRES/url"
  printf '%s' "$password" >"$POSTGRES/password"
  choose_user
  # --no-sync affects only the empty cluster; the server itself syncs as usual.
  "${as_user[@]}" initdb --pgdata "$POSTGRES/data" --no-sync --username hermes --pwfile "$POSTGRES/password" \
    --auth scram-sha-256 --encoding UTF8 --locale C.UTF-8
  launch postgres "${as_user[@]}" postgres -D "$POSTGRES/data" -p "$port" \
    -c listen_addresses=127.0.0.1 -c unix_socket_directories="$POSTGRES"
  wait_for postgres 30 postgres_version
}

postgres_stop() {
  [[ -e $POSTGRES ]] || return 0
  end_server postgres INT # a fast shutdown: ends all sessions
  remove_folder "$POSTGRES"
}
