import { z } from "zod";
import { LOG_LEVELS } from "./log-level.ts";

/** Section `logging`: level and rotation of the log files. */
export const loggingOptions = z.strictObject({
  level: z.enum(LOG_LEVELS).default("info").describe("Minimum level of lines in agent.log"),
  max_size_mb: z.number().positive().default(5).describe("Size in MB at which a log file is rotated"),
  backup_count: z.int().min(0).default(3).describe("Number of rotated files to keep for each log"),
});
