interface ColourStreams {
  readonly stdout: NodeJS.WriteStream;
  readonly env: NodeJS.ProcessEnv;
}

/** Whether the output is a terminal that shows colours, and the user wants them. */
export function hasColours({ stdout, env }: ColourStreams): boolean {
  return stdout.isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb";
}
