import { AppError } from "../../../lib/errors.ts";
import { ALLOW_SOCKET_HINT } from "./mounts.ts";

/** Flags that Hermes sets itself: with other values the sandbox could not be found, kept or reclaimed. */
const RESERVED_FLAGS = ["--name", "--entrypoint", "--rm", "--cidfile"];

/**
 * Finds the values of these flags in an argument list, in every form that the client accepts: `--flag value`,
 * `--flag=value`, `-f value`, `-fvalue`, and combined with switches as in `-itf value`.
 */
export function flagValues(args: readonly string[], ...flags: readonly string[]): string[] {
  return args.flatMap((argument, index) =>
    flags.flatMap((flag) => {
      const attached = attachedValue(argument, flag);
      return attached === undefined ? [] : [attached === "" ? (args[index + 1] ?? "") : attached];
    }),
  );
}

/** The value in the same argument after the flag, possibly empty; undefined for another flag. */
function attachedValue(argument: string, flag: string): string | undefined {
  if (argument === flag) return "";
  if (argument.startsWith(`${flag}=`)) return argument.slice(flag.length + 1);
  const [, letter] = /^-(\w)$/.exec(flag) ?? [];
  return letter === undefined ? undefined : new RegExp(`^-[itP]*${letter}(.*)$`, "s").exec(argument)?.[1];
}

/** Throws when the extra arguments set a reserved flag or label, a disabled network, or a forbidden engine socket. */
export function requireSafeArguments(
  args: readonly string[],
  { network, engineSocket }: { readonly network: boolean; readonly engineSocket: boolean },
): void {
  const reserved = RESERVED_FLAGS.find((flag) => flagValues(args, flag).length > 0);
  if (reserved !== undefined) throw refusal(`contains ${reserved}, which Hermes sets itself`);
  if (!engineSocket && args.some((argument) => argument.startsWith("--use-api-socket"))) {
    throw refusal(
      "contains --use-api-socket, which lets commands control the whole machine",
      ALLOW_SOCKET_HINT,
    );
  }
  const label = flagValues(args, "--label", "-l").find((value) => value.startsWith("hermes-"));
  if (label !== undefined) {
    throw refusal(`sets the label ${label.split("=")[0]}, which is reserved for Hermes`);
  }
  const [other] = flagValues(args, "--network", "--net").filter((value) => value !== "none");
  if (!network && other !== undefined) {
    throw refusal(`sets the network ${other}, but terminal.docker_network is false`);
  }
}

function refusal(problem: string, hint = "Change terminal.docker_extra_args."): AppError {
  return new AppError("sandbox-refused", `terminal.docker_extra_args ${problem}.`, {
    hint,
  });
}
