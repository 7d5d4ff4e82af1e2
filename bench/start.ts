import { spawnSync } from "node:child_process";
import { type Bench, medians, milliseconds } from "./bench.ts";

const ROUNDS = 25;

/** The time of the fastest command, compared with bare Node. */
export const startBench: Bench = {
  name: "start",
  async run() {
    const { ours, peer } = await medians(
      ROUNDS,
      () => run("./hermes", ["--version"]),
      () => run("node", ["-e", "0"]),
    );
    return [
      {
        name: "hermes --version ÷ node -e 0",
        ours: milliseconds(ours),
        peer: milliseconds(peer),
        ratio: ours / peer,
        budget: { max: 1.5 },
      },
    ];
  },
};

function run(program: string, args: readonly string[]): void {
  const { status } = spawnSync(program, args, { stdio: "ignore" });
  if (status !== 0) throw new Error(`${program} ended with ${status}`);
}
