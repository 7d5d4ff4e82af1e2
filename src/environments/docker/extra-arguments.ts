import { AppError } from "../../lib/errors.ts";
import { ALLOW_SOCKET_HINT } from "./mounts.ts";

/** Flags that belong to the lifecycle: with them the sandbox could not be found, kept or reclaimed. */
const OURS = ["--name", "--entrypoint", "--rm", "--cidfile"];

/**
 * The values that these flags have in an argument list, in every form that the client takes: `--flag value`,
 * `--flag=value`, `-f value`, `-fvalue`, and behind switches as in `-itf value`.
 */
export function flagValues(args: readonly string[], ...flags: readonly string[]): string[] {
  return args.flatMap((argument, index) =>
    flags.flatMap((flag) => {
      const attached = attachedValue(argument, flag);
      return attached === undefined ? [] : [attached === "" ? (args[index + 1] ?? "") : attached];
    }),
  );
}

/** What stands behind the flag in the same argument, or undefined when it is not that flag. */
function attachedValue(argument: string, flag: string): string | undefined {
  if (argument === flag) return "";
  if (argument.startsWith(`${flag}=`)) return argument.slice(flag.length + 1);
  const [, letter] = /^-(\w)$/.exec(flag) ?? [];
  return letter === undefined ? undefined : new RegExp(`^-[itP]*${letter}(.*)$`, "s").exec(argument)?.[1];
}

/** Throws when the extra arguments contradict the lifecycle, a network that is switched off or the refusal of engine sockets. */
export function requireHarmless(
  args: readonly string[],
  { network, engineSocket }: { readonly network: boolean; readonly engineSocket: boolean },
): void {
  const taken = OURS.find((flag) => flagValues(args, flag).length > 0);
  if (taken !== undefined) throw refusal(`hold ${taken}, which is ours to set`);
  if (!engineSocket && args.some((argument) => argument.startsWith("--use-api-socket"))) {
    throw refusal("hold --use-api-socket, which lets commands control the whole machine", ALLOW_SOCKET_HINT);
  }
  const label = flagValues(args, "--label", "-l").find((value) => value.startsWith("hermes-"));
  if (label !== undefined) throw refusal(`set the label ${label.split("=")[0]}, which is ours to set`);
  const [other] = flagValues(args, "--network", "--net").filter((value) => value !== "none");
  if (!network && other !== undefined) {
    throw refusal(`ask for the network ${other}, but terminal.docker_network is false`);
  }
}

function refusal(problem: string, hint = "Change terminal.docker_extra_args."): AppError {
  return new AppError("sandbox-refused", `terminal.docker_extra_args ${problem}.`, {
    hint,
  });
}
