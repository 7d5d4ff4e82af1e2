import { z } from "zod";
import { LOG_LEVELS } from "./log-level.ts";

/** Section `logging`: what is written to the logs, and how much of it is kept. */
export const loggingOptions = z.strictObject({
  level: z.enum(LOG_LEVELS).default("info").describe("Least important lines that agent.log keeps"),
  max_size_mb: z.number().positive().default(5).describe("Size in MB at which a log file is rotated"),
  backup_count: z.int().min(0).default(3).describe("Rotated files kept of each log"),
});
