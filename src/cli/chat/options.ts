import { z } from "zod";
import { runtimeFooterOptions } from "../../gateway/footer-options.ts";
import { KEY_NAMES, KEY_TABLE, type KeyName } from "./input/key-table.ts";
import { STATUS_FIELDS } from "./state/status-fields.ts";

const NAMED = "enter|escape|tab|space|backspace|delete|insert|home|end|up|down|left|right|f[1-9]|f1[0-2]";
const KEY = String.raw`(?:(?:ctrl|alt|shift|super)\+)*(?:[^\s,+]|${NAMED})`;
const KEYS = new RegExp(`^(?:none|${KEY}(?: ${KEY})?(?:, *${KEY}(?: ${KEY})?)*)$`);

function keysOption(name: KeyName) {
  const { keys, description } = KEY_TABLE[name];
  return z
    .string()
    .regex(KEYS, "expected keys such as `ctrl+s` or `ctrl+g, ctrl+x ctrl+e`, or none")
    .default(keys.join(", "))
    .meta({ description: `Keys of the chat: ${description}` });
}
type KeyOptions = Readonly<Record<KeyName, ReturnType<typeof keysOption>>>;
const keyOptions = Object.fromEntries(KEY_NAMES.map((name) => [name, keysOption(name)])) as KeyOptions;

/** Section `display`: how the chat in the terminal looks and what its keys do. */
export const displayOptions = z.strictObject({
  busy_input_mode: z.enum(["queue", "steer", "interrupt"]).default("queue").meta({
    description:
      "What Enter does with a message while a turn runs: queue (send it afterwards), steer (give it to the running turn), interrupt (stop the turn and send it; a command that runs goes on in the background)",
  }),
  motion: z
    .enum(["on", "off"])
    .default("on")
    .meta({ description: "Whether a spinner turns while something runs; off shows only the seconds" }),
  notify: z.enum(["off", "bell", "desktop"]).default("desktop").meta({
    description:
      "How the chat signals that a long turn has ended or that a question waits, if nobody has typed for a while: off, bell, or desktop (a notification in terminals that are known to show one, otherwise the bell)",
  }),
  screen_reader: z.boolean().default(false).meta({
    description:
      "Whether the chat prints whole lines and redraws nothing, for screen readers; --screen-reader and ACCESSIBLE do the same",
  }),
  show_reasoning: z
    .boolean()
    .default(false)
    .meta({ description: "Whether the reasoning of the model is printed before its answer" }),
  status: z
    .array(z.enum(STATUS_FIELDS))
    .default([...STATUS_FIELDS])
    .meta({
      description:
        "What the status line of the chat shows, in this order, as far as it fits; YOLO is shown in any case",
    }),
  wrap: z.enum(["words", "terminal"]).default("words").meta({
    description:
      "How answers are wrapped: words (by the chat, between words, at 100 columns at most) or terminal (by the terminal, which wraps them again when its width changes)",
  }),
  runtime_footer: runtimeFooterOptions.prefault({}),
  keys: z.strictObject(keyOptions).prefault({}),
});
