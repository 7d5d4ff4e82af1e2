import { subcommandOf } from "../commands/arguments.ts";
import { ENGINE_OPTIONS } from "../commands/rules/containers.ts";
import { GIT_OPTIONS } from "../commands/rules/git.ts";
import type { Invocation } from "../shell-reader/invocation.ts";

/** Programs with a verb, and their options before the verb that take the next word as their value. */
const VALUED_OPTIONS: Readonly<Record<string, RegExp>> = {
  git: GIT_OPTIONS,
  docker: ENGINE_OPTIONS,
  podman: ENGINE_OPTIONS,
  kubectl: /^(?:-n|-s|--(?:namespace|context|cluster|user|kubeconfig|server|token|as|request-timeout))$/,
  helm: /^(?:-n|--(?:namespace|kube-context|kubeconfig|registry-config))$/,
  terraform: /^$/,
  tofu: /^$/,
  npm: /^(?:-C|-w|--(?:prefix|registry|workspace|userconfig|loglevel|tag))$/,
  pnpm: /^(?:-C|-F|--(?:dir|filter|registry|loglevel))$/,
  yarn: /^--(?:cwd|registry)$/,
  cargo: /^(?:-C|-Z|--(?:config|color|manifest-path))$/,
  gh: /^(?:-R|--repo)$/,
  aws: /^--(?:profile|region|endpoint-url|output|query|ca-bundle|color)$/,
  gcloud: /^--(?:project|account|configuration|format|verbosity)$/,
  systemctl: /^(?:-H|-M|-t|--(?:host|machine|type|root))$/,
};

/** The invocation without the options before its verb: `git -C x push` as `git push`. */
export function withoutGlobalOptions(invocation: Invocation): Invocation {
  const { name, args } = invocation;
  if (!Object.hasOwn(VALUED_OPTIONS, name) || !args[0]?.startsWith("-")) return invocation;
  const { verb, rest } = subcommandOf(args, VALUED_OPTIONS[name]);
  return { ...invocation, args: verb === "" ? rest : [verb, ...rest] };
}

/** Variables by which a program finds or starts other programs. */
const STARTING_VARIABLES =
  /^(?:PATH|HOME|SHELL|IFS|ENV|BASH_ENV|PROMPT_COMMAND|PAGER|MANPAGER|EDITOR|VISUAL|BROWSER|XDG_CONFIG_HOME|LD_.*|DYLD_.*|GIT_.*|SSH_ASKPASS|NODE_OPTIONS|NODE_PATH|PYTHON.*|PERL5.*|RUBY.*|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|MAKEFLAGS|CC|CXX|RUSTC.*|CARGO_.*|npm_config_.*|DOCKER_.*|KUBECONFIG|HERMES_.*)$/i;
/** Options whose value is a command or a setting that names one. */
const STARTING_OPTIONS: Readonly<Record<string, RegExp>> = {
  git: /^(?:-c|--config-env(?:=.*)?|--exec-path=.*|--(?:upload|receive)-pack(?:=.*)?|--exec(?:=.*)?|-x|--open-files-in-pager(?:=.*)?|--ext-diff)$/,
  npm: /^(?:-c|--call(?:=.*)?|--script-shell(?:=.*)?|--node-options(?:=.*)?|--userconfig(?:=.*)?)$/,
  npx: /^(?:-c|--call(?:=.*)?|--node-options(?:=.*)?)$/,
  pnpm: /^(?:-c|--shell-mode|--script-shell(?:=.*)?)$/,
  tar: /^(?:-I.*|--(?:to-command|use-compress-program|checkpoint-action|rsh-command)(?:=.*)?)$/,
  rsync: /^(?:-[a-zA-Z]*e.*|--(?:rsh|rsync-path)(?:=.*)?)$/,
  ssh: /^(?:-[oF].*)$/,
  scp: /^(?:-[oFS].*)$/,
  cargo: /^--config(?:=.*)?$/,
  make: /^(?:SHELL|MAKE|CC|CXX)=.*$|^--eval(?:=.*)?$/,
  docker: /^(?:-H|--host(?:=.*)?|--config(?:=.*)?)$/,
};

/** Whether variables or options make a program start commands that its name and its verb do not show. */
export function runsOtherCommands(
  invocations: readonly Invocation[],
  variables: ReadonlyMap<string, unknown>,
): boolean {
  return (
    [...variables.keys()].some((name) => STARTING_VARIABLES.test(name)) ||
    invocations.some(
      ({ name, args }) =>
        Object.hasOwn(STARTING_OPTIONS, name) && args.some((word) => STARTING_OPTIONS[name]?.test(word)),
    )
  );
}
