import { expect, it } from "vitest";
import { createSystemPrompt, type PromptFacts, promptSections } from "./system-prompt.ts";

const facts: PromptFacts = {
  identity: undefined,
  tools: ["terminal", "todo"],
  place: "Commands run on the user's own machine, starting in /home/person/projects/thing.",
  project: undefined,
  date: "2026-01-31",
  takesNotes: false,
  surface:
    "This is a single run: nobody can answer questions, so decide for yourself and say what you assumed.",
};

it("A11, M2: the same facts are the same bytes", () => {
  expect(createSystemPrompt({ ...facts, tools: [...facts.tools] })).toBe(createSystemPrompt(facts));
});

it("A11: identity comes first, then conduct, place, project and what is the session's alone", () => {
  const project = { path: "/p/AGENTS.md", text: "Use tabs." };
  expect(promptSections({ ...facts, project }).map(({ name }) => name)).toEqual([
    "identity",
    "conduct",
    "place",
    "project context",
    "session",
  ]);
  const prompt = createSystemPrompt({ ...facts, project, identity: "You are Zoe.\n" });
  expect(prompt).toMatch(/^You are Zoe\.\n\n/);
  expect(prompt).toContain("from /p/AGENTS.md:\n<project>\nUse tabs.\n</project>");
  expect(prompt).toContain("2026-01-31");
});

it("A11: what belongs to a tool is said only with the tool", () => {
  expect(createSystemPrompt(facts)).toContain("with todo");
  expect(createSystemPrompt({ ...facts, tools: ["terminal"] })).not.toContain("todo");
});

it("what belongs to notes is said only where somebody can send some", () => {
  expect(createSystemPrompt(facts)).not.toContain("note");
  expect(createSystemPrompt({ ...facts, takesNotes: true })).toContain("A note that the user gives");
});
