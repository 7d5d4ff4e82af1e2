import { basename, join } from "node:path";
import type { Variables } from "./engine.ts";

/** What container engines and their parts call their sockets. */
const NAMES = /^(docker|dockershim|podman|containerd|crio|cri-dockerd|buildkitd)[\w.-]*\.sock$/;

/** Whether a container engine listens behind a path: whoever may write to it controls the whole machine. */
export function isEngineSocket(path: string, variables: Variables = {}): boolean {
  return NAMES.test(basename(path)) || engineSockets(variables).includes(path);
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
    "/var/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    ...(runtime ? [join(runtime, "docker.sock"), join(runtime, "podman/podman.sock")] : []),
    ...(home ? [join(home, ".docker/run/docker.sock"), join(home, ".docker/desktop/docker.sock")] : []),
  ];
}
