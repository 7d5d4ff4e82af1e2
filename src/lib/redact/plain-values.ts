const LOOKUP =
  /^(?:process\.env|import\.meta\.env|Deno\.env|os\.environ|os\.getenv|System\.getenv|getenv|env|ENV|secrets|vars)[.([]/;
const PLACEHOLDER = /^(?:\$[A-Za-z_{(]|%[A-Za-z_(]|<[A-Za-z]|\{\{|\{[A-Za-z_]|#\{)/;
const STARS = /^(?:\*+|x+|X+|\.+|•+|…|\[?redacted\]?)$/i;
const CONSTANT = /^(?:true|false|null|none|nil|undefined|yes|no|on|off|read|write|required|optional)$/i;
const SHORT_NUMBER = /^-?[0-9]{1,7}(?:\.[0-9]{1,4})?[A-Za-z]{0,2}$/;
const TYPE =
  /^(?:string|number|boolean|object|unknown|any|never|void|symbol|bigint|str|int|float|bool|bytes|text|varchar|char|SecretStr)(?:\[\])?$/i;
const EXPRESSION =
  /^(?:await|new|typeof|return|lambda|function|async)$|^[A-Za-z_$]{1,64}(?:\?\.[A-Za-z_$]|\.[A-Za-z_$]|::|->|[([])/;

const LONGEST_PLAIN = 80;

/** True for a value that only says where the real one is: `$API_KEY`, `${{ secrets.X }}`, `process.env.X`, `<your key>`. */
export function isReference(value: string): boolean {
  const head = value.slice(0, LONGEST_PLAIN);
  return PLACEHOLDER.test(head) || LOOKUP.test(head) || (value.length <= LONGEST_PLAIN && STARS.test(value));
}

/** True for a value that cannot be a secret: a constant, a short number, the name of a type, a web address. */
export function isTrivial(value: string): boolean {
  if (/^https?:\/\//i.test(value)) return true;
  if (value.length > LONGEST_PLAIN) return false;
  return CONSTANT.test(value) || SHORT_NUMBER.test(value) || TYPE.test(value);
}

/** True for text without quotes that reads like code, such as `config.token` or `next()`. */
export function isExpression(value: string): boolean {
  return EXPRESSION.test(value.slice(0, LONGEST_PLAIN));
}
