import { createToolDefinitions } from "../../src/conversation/prompt/prompt-facts.ts";
import { openLocalTestEnvironment, openToolLab } from "./tool-lab.ts";

// Prints the tool definitions that another process would send to a model.
await using testEnvironment = await openLocalTestEnvironment();
await using lab = await openToolLab(testEnvironment, {
  findAnswer: () => "",
  pastSessions: JSON.parse("{}"),
  fileSending: JSON.parse("{}"),
  vision: JSON.parse("{}"),
});
process.stdout.write(JSON.stringify(createToolDefinitions(lab.tools)));
