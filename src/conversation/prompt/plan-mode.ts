/** Added to every user message in plan mode. */
export const PLAN_MODE =
  "[Plan mode: read and search, but change nothing; calls that could change something are refused. Answer with a plan: what you would change, in which order, and how to check it.]";

/** The user message that accepts the plan. */
export const CARRY_OUT = "The plan is approved. Carry it out.";
