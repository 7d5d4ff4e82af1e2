/** Variables with the addresses of sockets and sessions of other programs. */
const CONNECTIONS =
  /^(?:SSH_AUTH_SOCK|SSH_AGENT_PID|GPG_AGENT_INFO|DBUS_.*|DOCKER_HOST|DOCKER_CONTEXT|CONTAINER_HOST|CONTAINERD_ADDRESS|KUBECONFIG|XDG_RUNTIME_DIR|DISPLAY|WAYLAND_DISPLAY|XAUTHORITY|TMUX|STY|VSCODE_IPC_.*)$/;
const SECRETS =
  /(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIALS?|_DSN|DATABASE_URL)$/i;

/** Temporary files and caches are in a folder of the sandbox, so that commands cannot change the real caches. */
const FOLDERS = {
  TMPDIR: "/tmp",
  XDG_CACHE_HOME: "/tmp/.cache",
  npm_config_cache: "/tmp/.cache/npm",
};

/** The variables of sandboxed commands; secrets are removed unless the user names them in `env_passthrough`. */
export function sandboxVariables(
  variables: Readonly<Record<string, string>>,
  passthrough: readonly string[],
): Record<string, string> {
  const allowed = new Set(passthrough);
  const kept = Object.entries(variables).filter(
    ([name]) => allowed.has(name) || !(CONNECTIONS.test(name) || SECRETS.test(name)),
  );
  return { ...Object.fromEntries(kept), ...FOLDERS };
}
