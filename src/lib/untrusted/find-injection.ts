import { headOf } from "../text/shorten.ts";
import { findHiddenCharacters, foldLookAlikes } from "./hidden-characters.ts";

/** Text that addresses the agent as if its user had written it, or that hides from the user. */
export interface Injection {
  /** What the text does, as the end of a sentence: "tells the agent to ignore its instructions". */
  readonly reason: string;
  /** The part of the text, shortened and on one line. */
  readonly quote: string;
}

interface InjectionRule {
  readonly reason: string;
  readonly pattern: RegExp;
}

const MAX_QUOTE_CHARS = 80;
/** Only the beginning and the end of a longer text are scanned, which bounds the cost per result. */
const MAX_CHARS = 400_000;

// Every gap between two words of a pattern is bounded, so that matching takes linear time.
const IGNORES = "(?:ignore|disregard|forget|discard|neglect|(?:do not|don't|stop) (?:follow|obey)(?:ing)?)";
const SENDS =
  "(?:send|post|upload|e-?mail|submit|forward|exfiltrate|leak|transmit|share|paste|append|curl|deliver|report)";
const SECRETS = String.raw`(?:api[ _-]?keys?|credentials?|passwords?|secrets?|(?:access |auth |session )?tokens?|private keys?|ssh keys?|environment variables?|env vars?|\.env\b|id_rsa|id_ed25519|\.aws/|\.netrc|/etc/shadow|cookies|system prompt|chat history|conversation)`;
const PRIVATE_FILES = String.raw`(?:~?/?\.ssh/(?:id_\w{1,20})?(?!\w{0,20}\.pub)|id_(?:rsa|ed25519|ecdsa)(?!\.pub)|\.env\b|\.aws/credentials|\.netrc|\.git-credentials|\.hermes\b|/etc/(?:passwd|shadow)|/proc/(?:self|\d+)/environ|printenv|\benv\b|\$\{?\w{0,40}(?:KEY|TOKEN|SECRET|PASSWORD))`;

const RULES: readonly InjectionRule[] = [
  {
    reason: "tells the agent to ignore its instructions",
    pattern: new RegExp(
      String.raw`\b${IGNORES}\b[^.!?\n]{0,30}?\b(?:previous|prior|preceding|above|earlier|foregoing|original|initial|system|developer|safety|your)\b[^.!?\n]{0,30}?\b(?:instructions?|prompts?|rules|directives|guidelines|guardrails|orders)\b`,
      "i",
    ),
  },
  {
    reason: "tells the agent to ignore its instructions",
    pattern: new RegExp(
      String.raw`\b${IGNORES}\b[^.!?\n]{0,15}?\b(?:(?:all|any|every|existing|other)\b[^.!?\n]{0,15}?\b(?:instructions?|directives|guardrails)|the (?:instructions|prompt|rules|guidelines) (?:above|before|so far|given|you))\b`,
      "i",
    ),
  },
  {
    reason: "tells the agent to ignore its instructions",
    pattern:
      /\b(?:override|overrule|bypass|circumvent)(?:s|ing)?\b[^.!?\n]{0,15}?\b(?:previous|prior|preceding|earlier|all|your|safety)\b[^.!?\n]{0,20}?\b(?:instructions|rules|directives|guidelines|guardrails)\b/i,
  },
  {
    reason: "tells the agent to ignore its instructions",
    pattern:
      /\b(?:ignore|disregard|forget)\b[^.!?\n]{0,15}?\b(?:everything|all|anything)\b[^.!?\n]{0,20}?\b(?:above|before this|you (?:were|have been|are|know)|(?:so|thus) far|until now|prior)\b/i,
  },
  {
    reason: "tells the agent to ignore its instructions",
    pattern:
      /\b(?:ignoriere?|vergiss|missachte)\b[^.!?\n]{0,30}\b(?:Anweisungen|Anleitungen|Regeln|Befehle)\b|\b(?:ignora|olvida|ignore[zr]?|oublie[zr]?|dimentica)\b[^.!?\n]{0,30}\b(?:instrucciones|instructions (?:pr[ée]c[ée]dentes|ci-dessus|ant[ée]rieures)|consignes|istruzioni|instruções)/i,
  },
  {
    reason: "tells the agent to ignore its instructions",
    pattern:
      /(?:忽略|无视|無視|忘记|忘記)[^。\n]{0,12}(?:指令|指示|提示|规则|規則|命令|说明)|игнориру[йе][^.\n]{0,30}(?:инструкци|указани|правил)|(?:以前|上記|これまで)の?(?:指示|命令)[^。\n]{0,8}無視/i,
  },
  {
    reason: "gives the agent another role or other rules",
    pattern:
      /\byou are (?:now|no longer)\b[^.!?\n]{0,40}\b(?:DAN|jailbroken|unrestricted|unfiltered|uncensored|in (?:developer|debug|admin|god|maintenance|root) mode|bound by|restricted by|an? (?:evil|rogue|malicious|different) (?:ai|assistant|agent))\b/i,
  },
  {
    reason: "gives the agent another role or other rules",
    pattern:
      /\b(?:new|updated|real|actual|hidden|secret|revised|important|urgent) (?:system )?(?:instructions?|directives?|prompt) (?:for|to) (?:the |any |all |every )?(?:ai|llm|agents?|assistants?|models?|language models?|hermes)\b|^\W{0,6}(?:new|updated|revised) (?:system (?:prompt|instructions?)|instructions?) *:/im,
  },
  {
    reason: "pretends to be a message of the system or of the user",
    pattern:
      /<\|(?:im_start|start_header_id)\|> ?(?:system|user|developer)|<<SYS>>|^\s{0,3}\[?(?:SYSTEM|DEVELOPER|ADMIN|ROOT)(?: (?:MESSAGE|NOTICE|OVERRIDE|PROMPT|INSTRUCTION|ALERT|COMMAND)S?)\]? ?[:\]]|<\/?(?:system|developer)[_-](?:message|prompt|instructions?|override)>|\bsystem override\b[^\n]{0,40}\b(?:agent|assistant|ai|engaged|authori[sz]ed|code)\b/im,
  },
  {
    reason: "pretends to be a message of the system or of the user",
    pattern:
      /^\s{0,3}\[?SYSTEM\]? ?:[^\n]{0,80}\b(?:you|agent|assistant|user|sandbox|run|execute|allowed|approved|ignore|disabled)\b/m,
  },
  {
    reason: "asks the agent to deceive the user",
    pattern:
      /\b(?:do not|don't|never|must not|without) (?:tell(?:ing)?|inform(?:ing)?|alert(?:ing)?|notify(?:ing)?|warn(?:ing)?|mention(?:ing)?|reveal(?:ing)?|disclos(?:e|ing))\b[^.!?\n]{0,25}?\bthe (?:user|human|operator|owner|developer)s?\b[^.!?\n]{0,25}?\b(?:this|these|about it|of it|what you|that you (?:did|have|were|read|sent|ran))\b/i,
  },
  {
    reason: "asks the agent to deceive the user",
    pattern:
      /\b(?:do not|don't|never|without) (?:tell(?:ing)?|mention(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|report(?:ing)?|show(?:ing)?)\b[^.!?\n]{0,20}?\b(?:this|these|it|any of this)\b[^.!?\n]{0,20}?\b(?:to|from|in) (?:the |your )?(?:user|human|operator|answer|response|reply)\b|\b(?:hide|conceal|keep) (?:this|these|it)\b[^.!?\n]{0,25}\bfrom the (?:user|human|operator)\b/i,
  },
  {
    reason: "claims that the user has consented",
    pattern:
      /\bthe user (?:has|had) (?:already )?(?:approved|authori[sz]ed|consented|agreed|confirmed|pre-?approved)\b[^.!?\n]{0,60}\b(?:this|these|all|every|any|you|commands?|uploads?|actions?)\b/i,
  },
  {
    // A link in parentheses, `([#12](https://…))`, is where a changelog cites its source.
    reason: "asks the agent to send secrets away",
    pattern: new RegExp(
      String.raw`\b${SENDS}\b[^.!?\n]{0,60}?${SECRETS}[^\n]{0,60}?(?:\bto\b|→|->)(?:(?!\(\[)[^\n]){0,30}?(?:https?://|@[\w-]+\.\w|\b\w+\.(?:example|com|net|org|io|xyz|evil|ru|cn)\b)`,
      "i",
    ),
  },
  {
    reason: "asks the agent to send secrets away",
    pattern: new RegExp(
      String.raw`\b(?:read|open|cat|collect|gather|print|find|copy|include|encode|dump|take)\b[^.!?\n]{0,40}?${PRIVATE_FILES}[^\n]{0,80}?\b${SENDS}\b[^\n]{0,60}?(?:https?://|\bto\b|@)`,
      "i",
    ),
  },
  {
    reason: "contains a command that sends secrets away",
    pattern: new RegExp(
      String.raw`\b(?:curl|wget|https?|xh|nc|ncat|netcat)\b[^\n]{0,120}?(?:-d\b|--data[\w-]*|-F\b|--form|-T\b|--upload-file|--post-(?:data|file)|\?[\w.-]{1,30}=|<)[^\n]{0,40}?(?:\$\(|@|${"`"}|<|\$\{?)[^\n]{0,40}?${PRIVATE_FILES}`,
      "i",
    ),
  },
  {
    reason: "contains a command that sends secrets away",
    pattern: new RegExp(
      String.raw`(?:\bcat\b|\bbase64\b|\btar\b|\bgrep\b|\bprintenv\b|^\W{0,4}env\b)[^\n|]{0,80}?(?:${PRIVATE_FILES}|\|)[^\n]{0,80}?\|\s{0,3}(?:curl|wget|nc|ncat|netcat|mail|ssh)\b[^\n]{0,120}`,
      "im",
    ),
  },
  {
    reason: "asks the agent to run hidden code",
    pattern:
      /\bdecode\b[^.!?\n]{0,60}\b(?:base64|hex|rot13|string|text|payload|following|below)\b[^.!?\n]{0,60}\b(?:and|then) (?:then )?(?:run|execute|follow|obey|eval)\b/i,
  },
  {
    reason: "gives orders to AI agents that read it",
    pattern:
      /\b(?:if you are|as|attention|note to|message (?:for|to)|instructions? (?:for|to)|dear) (?:an? |any |all |the )?(?:ai|llm|language model|artificial intelligence|chatbot|autonomous)s?(?:[ -](?:agents?|assistants?|models?|systems?|bots?|reviewers?))?\b[^\n]{0,80}\b(?:you must|must (?:first|now|immediately)|immediately|first (?:run|execute|send|read)|run the following|execute the following|curl|wget|upload|send)\b/i,
  },
];

/**
 * A hidden part of a page, searched for in pages and documents but not in source code. White text is not hidden if its element
 * has a background of another colour.
 */
const HIDDEN_ELEMENT =
  /<(?:div|span|p|font|section|td|li|a)\b[^>]{0,200}\bstyle\s{0,3}=\s{0,3}["'](?:[^"'>]{0,200}(?:display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden|font-size\s{0,3}:\s{0,3}0|opacity\s{0,3}:\s{0,3}0(?![.\d])|color\s{0,3}:\s{0,3}transparent)|(?![^"'>]{0,200}\bbackground(?:-color)?\s{0,3}:(?!\s{0,3}(?:#fff|white|transparent)))[^"'>]{0,200}color\s{0,3}:\s{0,3}(?:#fff(?:fff)?\b|white))[^>]{0,200}>[^<]{20,}/i;

/**
 * Finds text that is written to steer an agent. The heuristic recognises common forms; a text without a finding may still be
 * harmful. Takes time that is linear in the length of the text.
 */
export function findInjection(
  text: string,
  { isDocument = false }: { readonly isDocument?: boolean } = {},
): Injection | undefined {
  const read =
    text.length <= MAX_CHARS ? text : `${text.slice(0, MAX_CHARS / 2)}\n${text.slice(-MAX_CHARS / 2)}`;
  const hidden = findHiddenCharacters(read);
  if (hidden !== undefined) return hidden;
  const folded = foldLookAlikes(read);
  for (const { reason, pattern } of RULES) {
    const found = pattern.exec(folded);
    if (found !== null) return { reason, quote: toQuote(found[0]) };
  }
  const element = isDocument ? HIDDEN_ELEMENT.exec(folded) : null;
  return element === null
    ? undefined
    : { reason: "hides text from its readers", quote: toQuote(element[0].replace(/^[^>]*>/, "")) };
}

/** Turns a text into one line that is safe to show on a terminal and to a model. */
function toQuote(text: string): string {
  return headOf(text.replace(/[\p{C}\s"]+/gu, " ").trim(), MAX_QUOTE_CHARS);
}
