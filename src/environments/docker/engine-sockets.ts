import { basename, join } from "node:path";
import type { Variables } from "./engine.ts";

/** What container engines and their parts call their sockets. */
const NAMES = /^(docker|dockershim|podman|containerd|crio|cri-dockerd|buildkitd)[\w.-]*\.sock$/;

/** Whether a container engine listens behind a path: whoever may write to it controls the whole machine. */
export function isEngineSocket(path: string, variables: Variables = {}): boolean {
  return NAMES.test(basename(path)) || engineSockets(variables).includes(path);
}

const DEFAULT_SOCKET = "/var/run/docker.sock";

/** The socket that a client uses with that DOCKER_HOST; undefined when it goes over a network. */
export function socketOf(host: string | undefined): string | undefined {
  if (!host) return DEFAULT_SOCKET;
  return host.startsWith("unix://") ? host.slice("unix://".length) : undefined;
}

/** Where the engines of this machine listen, as far as can be told without asking them. */
export function engineSockets(variables: Variables): string[] {
  const addresses = ["DOCKER_HOST", "CONTAINER_HOST", "CONTAINERD_ADDRESS"].flatMap((name) => {
    const path = variables[name]?.replace(/^unix:\/\//, "") ?? "";
    return path.startsWith("/") ? [path] : [];
  });
  const { XDG_RUNTIME_DIR: runtime, HOME: home } = variables;
  return [
    ...addresses,
    "/run/docker.sock",
    DEFAULT_SOCKET,
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    ...(runtime ? [join(runtime, "docker.sock"), join(runtime, "podman/podman.sock")] : []),
    ...(home ? [join(home, ".docker/run/docker.sock"), join(home, ".docker/desktop/docker.sock")] : []),
  ];
}
