import { AppError } from "../../lib/errors.ts";

/** Flags that belong to the lifecycle: with them the sandbox could not be found, kept or reclaimed. */
const OURS = ["--name", "--entrypoint", "--rm", "--cidfile"];

/** The values that these flags have in an argument list, in the forms `--flag value`, `--flag=value`, `-f value`, `-fvalue`. */
export function flagValues(args: readonly string[], ...flags: readonly string[]): string[] {
  return args.flatMap((argument, index) =>
    flags.flatMap((flag) => {
      if (argument === flag) return [args[index + 1] ?? ""];
      if (argument.startsWith(`${flag}=`)) return [argument.slice(flag.length + 1)];
      const isShort = /^-[^-]$/.test(flag);
      return isShort && argument.startsWith(flag) ? [argument.slice(flag.length)] : [];
    }),
  );
}

/** Throws when the extra arguments contradict the lifecycle or a network that is switched off. */
export function requireHarmless(args: readonly string[], network: boolean): void {
  const taken = OURS.find((flag) => flagValues(args, flag).length > 0);
  if (taken !== undefined) throw refusal(`hold ${taken}, which is ours to set`);
  const label = flagValues(args, "--label", "-l").find((value) => value.startsWith("hermes-"));
  if (label !== undefined) throw refusal(`set the label ${label.split("=")[0]}, which is ours to set`);
  const [other] = flagValues(args, "--network", "--net").filter((value) => value !== "none");
  if (!network && other !== undefined) {
    throw refusal(`ask for the network ${other}, but terminal.docker_network is false`);
  }
}

function refusal(problem: string): AppError {
  return new AppError("sandbox-refused", `terminal.docker_extra_args ${problem}.`, {
    hint: "Change terminal.docker_extra_args.",
  });
}
