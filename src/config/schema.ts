import { z } from "zod";
import { agentOptions } from "../agent/options.ts";
import { kanbanOptions } from "../board/options.ts";
import { terminalOptions } from "../environments/options.ts";
import { toolOutputOptions } from "../environments/tool-output-options.ts";
import { loggingOptions } from "../lib/log/options.ts";
import { modelOptions, providersOption } from "../providers/options.ts";

declare module "zod" {
  interface GlobalMeta {
    /** Comes from `.env` or the environment only, and is never shown. */
    secret?: boolean;
    /** The variable that overrides the key, where it is not the one that follows from its path. */
    env?: string;
    /** Values of `terminal.backend` under which the key matters; under others a bad value does not stop the program. */
    usedBy?: readonly string[];
  }
}

/** The one list of settings: paths, variables, flags, reference page and editor schema are all computed from it. */
export const configSchema = z.strictObject({
  model: modelOptions.prefault({}),
  providers: providersOption,
  agent: agentOptions.prefault({}),
  terminal: terminalOptions.prefault({}),
  tool_output: toolOutputOptions.prefault({}),
  kanban: kanbanOptions.prefault({}),
  logging: loggingOptions.prefault({}),
});

export type Config = z.infer<typeof configSchema>;
