import { hasOption, operandsOf, subcommandOf, valuesOfOption } from "../arguments.ts";
import type { Match } from "../command-classes.ts";
import { judgeRead, locate } from "../sensitive-paths.ts";
import type { ClassRule, RuleContext } from "./class-rule.ts";

export const ENGINES = /^(?:docker|podman|nerdctl|docker-compose|podman-compose)$/;
/** Options of the engine itself that take the next argument as their value. */
export const ENGINE_OPTIONS =
  /^(?:-[HcflpP]|--(?:host|context|config|log-level|tlscacert|tlscert|tlskey|connection|url|root|runroot|file|project-name|project-directory|profile|env-file|ansi|progress))$/;
const MANAGED =
  /^(?:container|image|volume|network|system|builder|buildx|pod|machine|swarm|stack|service|secret|compose)$/;
const ENDING_VERBS = /^(?:rm|rmi|stop|kill|restart|pause|prune|down|remove|leave|reset|scale|update)$/;
const COMPOSE_VERBS = /^(?:down|stop|restart|kill|rm|pause|unpause|scale)$/;
const COMPOSE_LOSS = /^(?:-[a-zA-Z]*v[a-zA-Z]*|--volumes|--rmi(?:=.*)?)$/;
const MACHINE_FOLDERS =
  /^\/(?:etc|proc|sys|dev|boot|root|usr|var|var\/lib\/docker|home|Users)?$|\/(?:docker|podman|containerd|crio)\.sock$/;

/** Changes of containers, images and volumes, and containers with access to the machine. */
export const checkContainers: ClassRule = ({ name, args, cwd }, context) => {
  if (!ENGINES.test(name)) return undefined;
  if (hasOption(args, /^--help$/)) return undefined;
  const hosts = valuesOfOption(leadingOptions(args), "H", "--host", "--url");
  if (hosts.some((host) => !host.startsWith("unix:")))
    return { class: "container-control", effect: "controls a container engine on another machine" };
  const own = subcommandOf(args, ENGINE_OPTIONS);
  const isGroup = MANAGED.test(own.verb) && !name.endsWith("-compose");
  const { verb, rest } = isGroup ? subcommandOf(own.rest, ENGINE_OPTIONS) : own;
  if (verb === "push") return { class: "publish", effect: "publishes an image" };
  const isUpdate = /^(?:scale|update|reset|remove|leave)$/.test(verb) && !isGroup;
  const isCompose = own.verb === "compose" || name.endsWith("-compose");
  // Compose can create the containers of a project again. Only lost volumes and images matter.
  if (isCompose && COMPOSE_VERBS.test(verb) && !hasOption(rest, COMPOSE_LOSS)) return undefined;
  if (ENDING_VERBS.test(verb) && !isUpdate)
    return { class: "container-control", effect: `stops or removes containers or their data (${verb})` };
  return /^(?:run|create|up|exec)$/.test(verb) ? checkRun(rest, cwd, context) : undefined;
};

function leadingOptions(args: readonly string[]): readonly string[] {
  const at = args.findIndex(
    (word, index) => !word.startsWith("-") && !ENGINE_OPTIONS.test(args[index - 1] ?? ""),
  );
  return at < 0 ? args : args.slice(0, at);
}

function checkRun(
  rest: readonly string[],
  cwd: string | undefined,
  { facts }: RuleContext,
): Match | undefined {
  const escapes = (effect: string): Match => ({ class: "container-escape", effect });
  const options = optionsOfRun(rest);
  if (hasOption(options, /^--privileged(?:=true)?$/))
    return escapes("gives a container all rights on this machine");
  const values = valuesOfOption(
    options,
    undefined,
    "--pid",
    "--userns",
    "--ipc",
    "--uts",
    "--cap-add",
    "--security-opt",
    "--device",
  );
  if (
    values.some((value) =>
      /^(?:host|all|sys_admin|sys_module|sys_ptrace|.*unconfined|\/dev\/(?:sd|nvme|mem|kmem).*)$/i.test(
        value,
      ),
    )
  )
    return escapes("gives a container rights on this machine");
  for (const source of mountSources(options)) {
    if (!/^[/.~]/.test(source)) continue;
    const absolute = locate(source, cwd);
    if (MACHINE_FOLDERS.test(absolute) || absolute === facts.home)
      return escapes(`gives a container access to ${source} of this machine`);
    const secret = judgeRead(source, cwd, facts);
    if (secret) return secret;
  }
  return undefined;
}

/** The options before the image. What follows the image is for the container. */
function optionsOfRun(rest: readonly string[]): readonly string[] {
  const [image] = operandsOf(
    rest,
    /^-[vepwulmhac]$|^--(?!rm$|privileged|init$|detach$|interactive$|tty$|read-only$|pull-always$|quiet$|no-.*|.*=)[a-z-]+$/,
  );
  const at = image === undefined ? -1 : rest.indexOf(image);
  return at < 0 ? rest : rest.slice(0, at);
}

function mountSources(options: readonly string[]): readonly string[] {
  const volumes = valuesOfOption(options, "v", "--volume").map((word) => word.split(":")[0] ?? "");
  const mounts = valuesOfOption(options, undefined, "--mount").flatMap((word) =>
    word
      .split(",")
      .flatMap((part) => (/^(?:source|src)=/.test(part) ? [part.slice(part.indexOf("=") + 1)] : [])),
  );
  return [...volumes, ...mounts];
}
