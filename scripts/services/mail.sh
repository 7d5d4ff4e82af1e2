# shellcheck shell=bash
# Mail servers on loopback: Postfix takes mail, OpenDKIM checks its signatures, Dovecot delivers it and serves it over IMAP.
# Any address below test.invalid has a mailbox; addresses that begin with gone- or later- are refused.

mail_needs() {
  echo dovecot=dovecot-imapd /usr/lib/dovecot/lmtp=dovecot-lmtpd postfix=postfix opendkim=opendkim openssl=openssl
}

MAIL=$FOLDER/mail
MAIL_SERVER=mx.test.invalid
MAIL_SIGNER=signed.test.invalid # mail from this domain can be signed

mail_version() { mail_answers && printf 'dovecot %s, postfix %s\n' "$(dovecot --version)" "$(postconf -h -d mail_version)"; }

mail_details() {
  printf '"host":"127.0.0.1","imapPort":%s,"smtpPort":%s,"password":"secret-of-mail","caFile":%s,"authservId":"%s",' \
    "$(<"$MAIL/imap-port")" "$(<"$MAIL/smtp-port")" "$(json_string "$MAIL/server.pem")" "$MAIL_SERVER"
  printf '"signingDomain":"%s","signingKeyFile":%s,"boxes":%s,%s' "$MAIL_SIGNER" "$(json_string "$MAIL/dkim.key")" \
    "$(json_string "$MAIL/boxes")" "$(process_json mail)"
}

# Waits for the greeting of each server, which proves more than an open port.
mail_answers() {
  local line
  for name in imap smtp; do
    exec {mail}<>"/dev/tcp/127.0.0.1/$(<"$MAIL/$name-port")" || return
    read -r -t 5 line <&"$mail" || return
    exec {mail}>&-
    [[ $line == "* OK"* || $line == "220 "* ]] || return
  done
  [[ -S $MAIL/dkim/sock && -S $MAIL/lmtp ]]
}

mail_start() {
  ((EUID == 0)) || give_up mail "needs root"
  chmod 711 "$MAIL" # the servers run as other users
  mkdir -p "$MAIL/postfix" "$MAIL/queue" "$MAIL/postfix-data" "$MAIL/dovecot" "$MAIL/state"
  install -d -m 700 -o mail -g mail "$MAIL/boxes"
  chown postfix "$MAIL/postfix-data"
  printf '%s' "$(free_port)" >"$MAIL/imap-port"
  printf '%s' "$(free_port)" >"$MAIL/smtp-port"
  openssl req -x509 -newkey rsa:2048 -nodes -sha256 -days 3650 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$MAIL/server.key" -out "$MAIL/server.pem"
  openssl genrsa -traditional -out "$MAIL/dkim.key" 2048
  printf 'test._domainkey.%s v=DKIM1; k=rsa; p=%s\n' "$MAIL_SIGNER" \
    "$(openssl rsa -in "$MAIL/dkim.key" -pubout -outform der | openssl base64 -A)" >"$MAIL/public-keys"
  mail_write_dovecot
  mail_write_opendkim
  mail_write_postfix
  cat >"$MAIL/run" <<'RUN'
#!/usr/bin/env bash
# Runs the servers until one of them ends or this process gets a signal.
trap 'trap "" TERM; kill $(jobs -p) 2>/dev/null; wait; exit' TERM INT EXIT
dovecot -F -c "$1/dovecot.conf" &
opendkim -f -x "$1/opendkim.conf" &
postfix -c "$1/postfix" start-fg &
wait -n
RUN
  launch mail bash "$MAIL/run" "$MAIL"
  wait_for mail 30 mail_answers
}

mail_write_dovecot() {
  cat >"$MAIL/dovecot.conf" <<CONF
base_dir = $MAIL/dovecot
state_dir = $MAIL/state
log_path = /dev/stderr
protocols = imap lmtp
listen = 127.0.0.1
ssl = yes
ssl_cert = <$MAIL/server.pem
ssl_key = <$MAIL/server.key
disable_plaintext_auth = no
auth_mechanisms = plain login
auth_failure_delay = 0
mail_max_userip_connections = 100
mail_location = maildir:~/Maildir
first_valid_uid = 1
passdb {
  driver = static
  args = password=secret-of-mail
}
userdb {
  driver = static
  args = uid=mail gid=mail home=$MAIL/boxes/%Lu allow_all_users=yes
}
namespace inbox {
  inbox = yes
  separator = /
  mailbox Sent {
    special_use = \Sent
  }
}
protocol imap {
  mail_plugins =
}
service imap-login {
  inet_listener imap {
    port = $(<"$MAIL/imap-port")
  }
  inet_listener imaps {
    port = 0
  }
}
service lmtp {
  unix_listener $MAIL/lmtp {
    mode = 0666
  }
}
service auth {
  unix_listener $MAIL/auth {
    mode = 0666
  }
}
CONF
}

mail_write_opendkim() {
  cat >"$MAIL/opendkim.conf" <<CONF
Mode v
Socket local:$MAIL/dkim/sock
UMask 000
UserID opendkim
AuthservID $MAIL_SERVER
AlwaysAddARHeader yes
TestPublicKeys $MAIL/public-keys
InternalHosts 192.0.2.1
TemporaryDirectory $MAIL/dkim
CONF
  install -d -m 755 -o opendkim "$MAIL/dkim"
  chmod 644 "$MAIL/public-keys"
}

mail_write_postfix() {
  cat >"$MAIL/postfix/main.cf" <<CONF
compatibility_level = 3.6
queue_directory = $MAIL/queue
data_directory = $MAIL/postfix-data
myhostname = $MAIL_SERVER
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mydestination =
mynetworks = 127.0.0.0/8
maillog_file = /dev/stdout
smtpd_tls_cert_file = $MAIL/server.pem
smtpd_tls_key_file = $MAIL/server.key
smtpd_tls_security_level = may
smtpd_sasl_auth_enable = yes
smtpd_sasl_type = dovecot
smtpd_sasl_path = $MAIL/auth
smtpd_recipient_restrictions = check_recipient_access regexp:$MAIL/postfix/recipients, permit_mynetworks, reject
smtpd_error_sleep_time = 0
smtpd_milters = unix:$MAIL/dkim/sock
milter_default_action = tempfail
virtual_mailbox_domains = regexp:$MAIL/postfix/domains
virtual_mailbox_maps = static:all
virtual_transport = lmtp:unix:$MAIL/lmtp
message_size_limit = 30000000
CONF
  printf '/^gone-/ 550 5.1.1 no such person\n/^later-/ 450 4.2.0 not now\n' >"$MAIL/postfix/recipients"
  printf '/\\.test\\.invalid$/ yes\n' >"$MAIL/postfix/domains"
  {
    printf '127.0.0.1:%s inet n - n - - smtpd\n' "$(<"$MAIL/smtp-port")"
    printf '%s\n' 'postlog unix-dgram n - n - 1 postlogd' 'pickup unix n - n 60 1 pickup' 'cleanup unix n - n - 0 cleanup' \
      'qmgr unix n - n 300 1 qmgr' 'rewrite unix - - n - - trivial-rewrite' 'bounce unix - - n - 0 bounce' \
      'defer unix - - n - 0 bounce' 'trace unix - - n - 0 bounce' 'verify unix - - n - 1 verify' \
      'proxymap unix - - n - - proxymap' 'smtp unix - - n - - smtp' 'lmtp unix - - n - - lmtp' \
      'error unix - - n - - error' 'retry unix - - n - - error' 'anvil unix - - n - 1 anvil' \
      'scache unix - - n - 1 scache' 'tlsmgr unix - - n 1000? 1 tlsmgr'
  } >"$MAIL/postfix/master.cf"
}

mail_stop() {
  [[ -e $MAIL ]] || return 0
  end_server mail TERM
  remove_folder "$MAIL"
}
