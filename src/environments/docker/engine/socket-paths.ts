import { basename, join } from "node:path";
import type { Variables } from "./engine.ts";

/** File names of the sockets of container engines and their components. */
const SOCKET_NAMES = /^(docker|dockershim|podman|containerd|crio|cri-dockerd|buildkitd)[\w.-]*\.sock$/;

/** Whether the path is the socket of a container engine. A process that can write to it controls the machine. */
export function isEngineSocket(path: string, variables: Variables = {}): boolean {
  return SOCKET_NAMES.test(basename(path)) || engineSockets(variables).includes(path);
}

const DEFAULT_SOCKET = "/var/run/docker.sock";

/** The socket that a client uses with that DOCKER_HOST; undefined for a network address. */
export function socketPathOf(host: string | undefined): string | undefined {
  if (!host) return DEFAULT_SOCKET;
  return host.startsWith("unix://") ? host.slice("unix://".length) : undefined;
}

/** The sockets of the engines of this machine, as far as the environment and the defaults name them. */
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
