const LOOKUP =
  /^(?:process\.env|import\.meta\.env|Deno\.env|os\.environ|os\.getenv|System\.getenv|getenv|env|ENV|secrets|vars)[.([]/;
const PLACEHOLDER = /^(?:\$[A-Za-z_{(]|%[A-Za-z_(]|<[A-Za-z]|\{\{|\{[A-Za-z_]|#\{)/;
const MASKED = /^(?:\*+|x+|\.+|•+|…|\[?redacted\]?)$/i;
const CONSTANT =
  /^(?:true|false|null|none|nil|undefined|yes|no|on|off|read|write|required|optional|value|default|auto)$/i;
const SHORT_NUMBER = /^-?[0-9][0-9_]{0,6}(?:\.[0-9]{1,4})?[A-Za-z]{0,2}$/;
const TYPE =
  /^(?:string|number|boolean|object|unknown|any|never|void|symbol|bigint|str|int|float|bool|bytes|text|varchar|char|SecretStr)(?:\[\])?$/i;
// Lower case only, because some keys start with a slash and contain another.
const PATH = /^(?:~|\.{1,2})?(?:\/[a-z0-9._-]{1,64}){2,12}$/;
const CALL = /^[A-Za-z_$][\w$]{0,40}(?:\.[A-Za-z_$][\w$]{0,40}){0,6}[([<]/;
const MEMBER = /^[A-Za-z_$]{1,64}(?:\?\.|\.|::|->)[A-Za-z_$]/;
const EXPRESSION_START = /^(?:[{([]|(?:await|new|typeof|return|lambda|function|async)$)/;

const MAX_PLAIN_LENGTH = 80;

/** Whether a value only refers to the real one: `$API_KEY`, `${{ secrets.X }}`, `process.env.X`, `<your key>`. */
export function isReference(value: string): boolean {
  const head = value.slice(0, MAX_PLAIN_LENGTH);
  return (
    PLACEHOLDER.test(head) || LOOKUP.test(head) || (value.length <= MAX_PLAIN_LENGTH && MASKED.test(value))
  );
}

/** Whether a value cannot be a secret: a constant, a short number, the name of a type or file, a URL. */
export function isTrivial(value: string): boolean {
  if (/^https?:\/\//i.test(value)) return true;
  if (value.length > MAX_PLAIN_LENGTH) return false;
  return [CONSTANT, SHORT_NUMBER, TYPE, PATH].some((plain) => plain.test(value));
}

/** Whether unquoted text looks like code, such as `config.token` or `next()`. */
export function isExpression(value: string): boolean {
  const head = value.slice(0, MAX_PLAIN_LENGTH);
  return [CALL, MEMBER, EXPRESSION_START].some((code) => code.test(head));
}
