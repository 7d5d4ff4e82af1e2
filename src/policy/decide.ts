import { collectCommandEffects } from "./command-effects.ts";
import { operandsOf } from "./commands/arguments.ts";
import { type Finding, inspectCommand } from "./commands/classify-command.ts";
import type { CommandFacts } from "./commands/command-classes.ts";
import { isReadOnly } from "./commands/read-only.ts";
import { judgeLinked, judgeRead, judgeWrite, locate } from "./commands/sensitive-paths.ts";
import { writtenBy } from "./commands/written-files.ts";
import type { Decision, DecisionRequest } from "./decision.ts";
import { formatDenial } from "./denial.ts";
import { checkReading, refuseUnreadable } from "./hardline/check-hardline.ts";
import { dropHarmless } from "./harmless-findings.ts";
import { findThreatToOwnProcess } from "./own-processes.ts";
import type { Grant, OpenQuestion, Policy } from "./policy.ts";
import { type ResolvedFile, resolveFiles } from "./resolved-files.ts";
import { findAllowOrAskRule, findDenyRule } from "./rules/find-rule.ts";
import { type RuleSubject, spellCommand } from "./rules/match-rule.ts";
import { formatInFolder, type Rule } from "./rules/rule.ts";
import { formatInvocation, type Invocation } from "./shell-reader/invocation.ts";
import { type CommandReading, readCommand } from "./shell-reader/read-command.ts";
import { findTaintedEffects, type TaintedUse } from "./untrusted/tainted-call.ts";
import { formatSources } from "./untrusted/untrusted-sources.ts";

/**
 * Decides about one call, in the order of DECISION_STEPS. Every surface uses this function; the steps before `yolo`
 * are never skipped. Returns a question if only a person may decide.
 */
export async function decide(
  request: DecisionRequest,
  policy: Policy,
  signal: AbortSignal,
): Promise<Decision | OpenQuestion> {
  const { effects } = request;
  const { environment, state } = policy;
  const shellCwd = policy.cwd();
  const cwd = effects.cwd === undefined ? shellCwd : locate(effects.cwd, shellCwd);
  const facts = {
    ...{ home: environment.home, cwd, hermesHome: policy.hermesHome },
    contentOf: policy.written?.contentOf,
  };
  const commands: { text: string; reading: CommandReading }[] = [];
  for (const text of effects.commands ?? []) {
    const reading = readCommand(text, facts);
    if ("unreadable" in reading) {
      const { rule, message } = refuseUnreadable(reading);
      return { verdict: "denied", step: "limits", rule, reason: reading.problem, message };
    }
    commands.push({ text, reading });
  }
  for (const { reading } of commands) {
    const refusal = checkReading(reading, facts);
    if (refusal !== undefined) {
      const { rule, message } = refusal;
      return {
        verdict: "denied",
        step: "hardline",
        rule,
        reason: "The hardline floor never allows this.",
        message,
      };
    }
  }
  const inspected = commands.map(({ text, reading }) => ({
    text,
    reading,
    ...inspectCommand(reading, facts),
  }));
  const readings = inspected.flatMap(({ reading, nested }) => [reading, ...nested]);
  const invocations = readings.flatMap((reading) => reading.invocations);
  if (invocations.some(readsSudoPassword)) return deny("sudo", SUDO_REASON);
  const rules = await policy.rules(cwd);
  const workspace = policy.workspace ?? shellCwd;
  const used = collectCommandEffects(invocations);
  const roots = [policy.hermesHome, environment.home, workspace, cwd];
  const toFiles = (paths: readonly string[] = []) =>
    paths.map((path) => ({ path: locate(path, cwd), followsLink: true }));
  const [reads = [], writes = [], commandReads = [], commandWrites = []] = await Promise.all(
    [toFiles(effects.reads), toFiles(effects.writes), used.reads, used.writes].map((files) =>
      resolveFiles(files, roots, policy.resolveLinks),
    ),
  );
  // Files of a refused call are recorded too. The only cost is that such a file is inspected if it is run later.
  policy.written?.add([...writes, ...commandWrites].map(({ path }) => path));
  const isLinked = ({ path, real }: ResolvedFile): boolean => path !== real;
  const isContained = ({ class: name }: Finding): boolean =>
    effects.leavesSandbox !== true && environment.contains?.has(name) === true;
  const ofCommands = [
    ...inspected.flatMap((command) => command.findings),
    // The paths as written were already classified, together with the programs that use them.
    ...classifyFiles(request.tool, commandReads.filter(isLinked), commandWrites.filter(isLinked), facts),
  ];
  const findings = [
    ...ofCommands.filter((finding) => !isContained(finding)),
    ...(effects.leavesSandbox === true ? [sandboxExit(inspected.map(({ text }) => text).join("\n"))] : []),
    ...classifyLinks(invocations, facts),
    ...classifyFiles(request.tool, reads, writes, facts),
  ];
  const subject: RuleSubject = {
    tool: request.tool,
    commands: inspected.map(({ text, reading, nested }) => ({
      text,
      reading,
      spellings: spellCommand(text, [reading, ...nested]),
    })),
    classes: findings.map((finding) => finding.class),
    reads: spellingsOf(reads),
    writes: spellingsOf(writes),
    hosts: effects.hosts ?? [],
    used: { reads: spellingsOf(commandReads), writes: spellingsOf(commandWrites), hosts: used.hosts },
    home: environment.home,
    cwd,
    workspace,
  };
  const denying = findDenyRule(rules, subject);
  if (denying !== undefined)
    return {
      ...deny("deny-rule", `The rule \`${denying.text}\` (${denying.layer}) forbids it.`),
      ...ruleOf(denying),
    };
  const threat = environment.sharesProcesses ? findThreatToOwnProcess(readings, policy.ownPids) : undefined;
  if (threat !== undefined) return deny("own-processes", threat);
  const changesNothing = (): boolean =>
    !request.mutates ||
    (commands.length > 0 &&
      effects.startsJob !== true &&
      commands.every(({ reading }) => isReadOnly(reading, facts)));
  if (state.isPlanning && !changesNothing())
    return deny("plan-mode", "Plan mode allows only what changes nothing.");
  const sources = policy.untrusted?.() ?? [];
  if (sources.length > 0) {
    const call = {
      ...{ tool: request.tool, readings, findings, hosts: subject.hosts },
      instructsAgents: effects.instructsAgents === true,
      networkCode: inspected.flatMap((command) => command.networkCode),
      reads: [...subject.reads, ...subject.used.reads],
      writes: [...subject.writes, ...subject.used.writes],
    };
    const tainted = await judgeTainted(request, policy, { call, sources }, signal);
    if (tainted !== undefined) return tainted;
  }
  const rule = findAllowOrAskRule(rules, subject);
  const skipsQuestions = state.isYolo || state.mode === "off";
  const isManagedAsk = rule?.effect === "ask" && rule.layer === "managed";
  if (skipsQuestions && !isManagedAsk)
    return allow("yolo", state.isYolo ? "Yolo mode asks nothing." : "approvals.mode is off.");
  const harmful = skipsQuestions ? [] : await dropHarmless(findings, invocations, policy.probeFiles, signal);
  const ofClasses = toRule(harmful);
  if (environment.isIsolated && subject.hosts.length === 0) {
    const isAsked = rule !== undefined || ofClasses !== undefined;
    // Inspecting the sandbox takes time, so it is skipped for a call that no rule asks about.
    if (!isAsked || (await environment.findOpening?.(signal)) === undefined)
      return allow("sandbox", environment.reason);
  }
  if (rule?.effect === "allow")
    return { ...allow("rule", `The rule \`${rule.text}\` (${rule.layer}) allows it.`), ...ruleOf(rule) };
  const asking = [rule, ofClasses].filter((one) => one !== undefined);
  const [first] = asking;
  if (first === undefined) return { ...allow("rule", "No rule asks about it."), layer: "built-in" };
  const answered = new Set(policy.rememberedRules().flatMap(splitClasses));
  const isAnswered = (text: string): boolean => splitClasses(text).every((part) => answered.has(part));
  const askingRule = asking.find(({ text }) => !isAnswered(text));
  if (askingRule === undefined)
    return {
      ...allow("remembered", "A person allowed this kind of call for this session."),
      ...ruleOf(first),
      scope: "session",
    };
  const reason =
    askingRule === rule
      ? `The rule \`${rule.text}\` (${rule.layer}) asks about it.`
      : `It ${describe(harmful)}.`;
  const grant = await policy.useGrant(request.hash, signal);
  if (grant !== undefined) return allowByGrant(grant, askingRule, reason);
  return review(request, policy, { askingRule, reason, subject }, signal);
}

/** Asks about a call that untrusted text could have caused; undefined if the later steps decide. */
async function judgeTainted(
  request: DecisionRequest,
  policy: Policy,
  { call, sources }: { call: Parameters<typeof findTaintedEffects>[0]; sources: readonly string[] },
  signal: AbortSignal,
): Promise<Decision | OpenQuestion | undefined> {
  const effects = findTaintedEffects(call);
  const answered = new Set(policy.rememberedRules().flatMap(splitClasses));
  const open = effects.filter(({ use }) => !answered.has(UNTRUSTED + use));
  if (open.length === 0 || policy.unattended === "approve") return undefined;
  const uses = [...new Set(open.map(({ use }) => use))].toSorted();
  const rule = { text: UNTRUSTED + uses.join("+"), layer: "built-in" } as const;
  const reason = `The conversation contains untrusted text (${formatSources(sources)}), and the call ${joinEffects(open.map(({ effect }) => effect))}.`;
  const grant = await policy.useGrant(request.hash, signal);
  if (grant !== undefined) return allowByGrant(grant, rule, reason);
  if (policy.unattended === "deny")
    return { ...deny("taint", `${reason} Nobody can be asked in this run.`), ...ruleOf(rule) };
  const words = uses.map((use) => USES[use]).join(", and ");
  return {
    question: {
      ...{ reason, rule: rule.text, layer: rule.layer, always: undefined },
      session: {
        rule: rule.text,
        words: `every call that ${words}, whatever untrusted text the session reads`,
      },
    },
  };
}

/** Allows the call because of an approval that was given after the process that asked had exited. */
function allowByGrant(
  { id: approvalId, answeredBy, scope }: Grant,
  rule: Pick<Rule, "text" | "layer">,
  reason: string,
): Decision {
  return {
    ...allow("person", `${reason} ${answeredBy} approved it.`),
    ...ruleOf(rule),
    ...{ approvalId, answeredBy, scope },
  };
}

async function review(
  request: DecisionRequest,
  policy: Policy,
  {
    askingRule,
    reason,
    subject,
  }: { askingRule: Pick<Rule, "text" | "layer">; reason: string; subject: RuleSubject },
  signal: AbortSignal,
): Promise<Decision | OpenQuestion> {
  let passedOn = "";
  if (policy.state.mode === "smart" && policy.review !== undefined) {
    const { verdict, reason: why, reviewer } = await policy.review(request, reason, signal);
    const evidence = { ...ruleOf(askingRule), answeredBy: reviewer, scope: "once" } as const;
    if (verdict === "approve")
      return { ...allow("reviewer", `${reason} The reviewer approved: ${why}`), ...evidence };
    if (verdict === "deny")
      return { ...deny("reviewer", `${reason} The reviewer refused: ${why}`), ...evidence };
    passedOn = why === "" ? "" : ` The reviewer did not decide: ${why.replace(/\.?$/, ".")}`;
  }
  if (policy.unattended === "approve")
    return {
      ...allow("person", `${reason} Nobody can be asked, and the settings allow it in that case.`),
      ...ruleOf(askingRule),
    };
  if (policy.unattended === "deny")
    return { ...deny("person", `${reason} Nobody can be asked in this run.`), ...ruleOf(askingRule) };
  // A rule of the user cannot answer a question of the administrator's rule.
  const exact = askingRule.layer === "managed" ? undefined : exactRule(subject);
  return {
    question: {
      reason: reason + passedOn,
      rule: askingRule.text,
      layer: askingRule.layer,
      session: { rule: askingRule.text, words: `everything that \`${askingRule.text}\` asks about` },
      always: exact,
    },
  };
}

/** A rule that allows exactly this command. It is limited to this folder if the command names relative paths. */
function exactRule({ commands, cwd }: RuleSubject): { rule: string; words: string } | undefined {
  const [command] = commands;
  const text = command?.text.trim();
  if (command === undefined || text === undefined || /[*\n]/.test(text)) return undefined;
  if (!command.reading.invocations.some(namesRelativePath))
    return { rule: text, words: `exactly \`${text}\`` };
  const rule = formatInFolder(cwd, text);
  return rule === undefined ? undefined : { rule, words: `exactly \`${text}\` in ${cwd}` };
}

function namesRelativePath(invocation: Invocation): boolean {
  const { name, program, args, files } = invocation;
  if (name === "cd" || name === "pushd") return args.some((word) => !/^[/-]/.test(word));
  const paths = [...writtenBy(invocation), ...files.map(({ path }) => path)];
  const pathLike = [program, ...args].filter(
    (word) =>
      !word.includes("://") && (/^[^-@:=]*\//.test(word) || /^[\w.-]*\w\.[a-z]\w{0,5}$|^\.\.?$/i.test(word)),
  );
  return [...paths, ...pathLike].some((path) => !path.startsWith("/"));
}

function sandboxExit(command: string): Finding {
  return { class: "sandbox-exit", effect: "runs outside the local sandbox", command };
}

/** Classifies files as those of commands are classified, by the given path and by the path without symbolic links. */
function classifyFiles(
  tool: string,
  reads: readonly ResolvedFile[],
  writes: readonly ResolvedFile[],
  facts: CommandFacts,
): readonly Finding[] {
  const judge = (files: readonly ResolvedFile[], judgePath: typeof judgeRead): Finding[] =>
    files.flatMap(({ path, real }) => {
      const match = judgePath(path, facts.cwd, facts) ?? judgePath(real, facts.cwd, facts);
      return match === undefined ? [] : [{ ...match, command: `${tool} ${path}` }];
    });
  return [...judge(reads, judgeRead), ...judge(writes, judgeWrite)];
}

/** Creating a link to the settings of Hermes needs an answer, because a later write through the link would not name them. */
function classifyLinks(invocations: readonly Invocation[], facts: CommandFacts): readonly Finding[] {
  return invocations
    .filter(({ name, remote }) => name === "ln" && !remote)
    .flatMap((invocation) => {
      const match = operandsOf(invocation.args)
        .map((path) => judgeLinked(path, invocation.cwd, facts))
        .find((found) => found !== undefined);
      return match === undefined ? [] : [{ ...match, command: formatInvocation(invocation) }];
    });
}

function spellingsOf(files: readonly ResolvedFile[]): readonly string[] {
  return [...new Set(files.flatMap(({ path, real }) => [path, real]))];
}

/** The classes of the findings as one rule, joined by `+`, so that an answer covers exactly these classes. */
function toRule(findings: readonly Finding[]): Pick<Rule, "text" | "layer"> | undefined {
  const classes = [...new Set(findings.map((finding) => finding.class))];
  return classes.length === 0 ? undefined : { text: `${CLASS}${classes.join("+")}`, layer: "built-in" };
}

const CLASS = "class:";
const UNTRUSTED = "untrusted:";
const USES: Readonly<Record<TaintedUse, string>> = {
  send: "sends something to another machine",
  credentials: "reads or changes credentials",
  memory: "changes what later sessions do",
};

/** Splits a rule for several classes into one rule per class. */
function splitClasses(text: string): string[] {
  const prefix = [CLASS, UNTRUSTED].find((one) => text.startsWith(one));
  return prefix === undefined
    ? [text]
    : text
        .slice(prefix.length)
        .split("+")
        .map((name) => prefix + name);
}

function describe(findings: readonly Finding[]): string {
  return joinEffects(findings.map(({ effect, command }) => `${effect} (\`${command}\`)`));
}

function joinEffects(effects: readonly string[]): string {
  return [...new Set(effects)].slice(0, 3).join(", and ");
}

function ruleOf({ text, layer }: Pick<Rule, "text" | "layer">): Pick<Decision, "rule" | "layer"> {
  return { rule: text, layer };
}

function allow(step: Decision["step"], reason: string): Decision {
  return { verdict: "allowed", step, reason };
}

function deny(step: Decision["step"], reason: string): Decision {
  return { verdict: "denied", step, reason, message: formatDenial(reason, step) };
}

const SUDO_REASON = "sudo would read a password from its input, and none is configured.";

function readsSudoPassword({ name, args }: Invocation): boolean {
  if (name !== "sudo") return false;
  const options = args.slice(
    0,
    Math.max(
      0,
      args.findIndex((word) => !word.startsWith("-")),
    ) || args.length,
  );
  return options.some((word) => word === "--stdin" || /^-[A-Za-z]*S/.test(word));
}
