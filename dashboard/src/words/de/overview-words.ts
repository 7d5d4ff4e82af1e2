import type { Words } from "../en.ts";
import { inflected, money, number, roundMoney } from "../format.ts";
import { spoken } from "./spoken.ts";

type Sentence = ReturnType<Words["overview"]["sentence"]>;
type Counts = Parameters<Words["overview"]["sentence"]>[0];

/** "Drei Aufgaben laufen, zwei Dinge brauchen Sie, und elf wurden heute erledigt." */
function sentence({ running, needs, doneToday }: Counts): Sentence {
  if (running + needs + doneToday === 0) return [{ text: "Nichts läuft, und nichts braucht Sie." }];
  const parts: Sentence[number][] = [];
  if (running > 0)
    parts.push({
      text: running === 1 ? "eine Aufgabe läuft" : `${spoken(running)} Aufgaben laufen`,
      tone: "live",
    });
  else parts.push({ text: "nichts läuft" });
  if (needs > 0)
    parts.push({
      text: needs === 1 ? "eine Sache braucht Sie" : `${spoken(needs)} Dinge brauchen Sie`,
      tone: "needs",
    });
  else if (doneToday === 0) parts.push({ text: "nichts braucht Sie" });
  if (doneToday > 0)
    parts.push({
      text: doneToday === 1 ? "eine wurde heute erledigt" : `${spoken(doneToday)} wurden heute erledigt`,
    });
  return parts.flatMap((part, index) => {
    const isLast = index === parts.length - 1;
    const before = index === 0 ? "" : isLast ? ", und " : ", ";
    const text = index === 0 ? part.text[0]?.toUpperCase() + part.text.slice(1) : part.text;
    return [
      ...(before === "" ? [] : [{ text: before }]),
      { ...part, text },
      ...(isLast ? [{ text: "." }] : []),
    ];
  });
}

/** The Overview. */
export const overviewWords: Words["overview"] = {
  sentence,
  spentToday: (usd, cap) =>
    cap === null ? `heute ${money(usd)} ausgegeben` : `heute ${money(usd)} von ${roundMoney(cap)} ausgegeben`,
  ready: (count) => `${number(count)} startbereit`,
  lastPassBefore: "letzter Durchgang vor",
  lastPassAfter: "",
  noDispatcher: "kein Dispatcher",
  needs: {
    title: "Braucht Sie",
    none: "Nichts braucht Sie.",
    asks: (who) => `${who} fragt`,
    failed: (count) => (count === 2 ? "zweimal fehlgeschlagen" : `${number(count)}-mal fehlgeschlagen`),
    undispatched: (count) =>
      `${number(count)} ${inflected(count, "Aufgabe ist", "Aufgaben sind")} bereit, aber kein Dispatcher läuft, der sie startet.`,
    retried: (at) => `Neuer Versuch um ${at}.`,
    answer: "Antworten",
    answerLabel: (title) => `Antwort auf ${title}`,
    answerHint: (who) => `${who} macht damit sofort weiter.`,
    send: "Senden",
    sent: (who) => `Beantwortet; ${who} macht weiter.`,
    open: "Öffnen",
    retry: "Erneut versuchen",
    willRetry: "Der nächste Durchgang des Dispatchers startet sie wieder.",
    resume: "Fortsetzen",
    approveTask: "Freigeben",
    changes: "Änderungen verlangen",
    changesLabel: (title) => `Was sich an ${title} ändern soll`,
    allowOnce: "Einmal erlauben",
    allowSession: "In dieser Sitzung erlauben",
    allowAlways: "Immer erlauben",
    deny: "Ablehnen",
    decided: "Beantwortet.",
    worker: "der Worker",
    own: "In eigenen Worten",
  },
  running: {
    title: "Läuft",
    places: (count, places) => (places === null ? `${count}` : `${count} von ${places} Plätzen`),
    none: "Nichts läuft.",
    all: "Board",
    unassigned: "nicht zugewiesen",
  },
  lately: { title: "Zuletzt", none: "Noch ist nichts passiert." },
  spending: {
    title: "Ausgaben",
    days: (count) => `${count} Tage`,
    today: "heute",
    cap: (usd) => `Grenze ${roundMoney(usd)}`,
    cache: (share) => `${Math.round(share * 100)} % aus dem Cache`,
    none: "Keine Ausgaben in diesen Tagen.",
    label: (days, today, cap) =>
      `Ausgaben der letzten ${days} Tage; heute ${money(today)}${cap === null ? "" : ` bei einer Grenze von ${roundMoney(cap)}`}.`,
    unpriced: (count) =>
      `Für ${inflected(count, "eine Antwort", `${count} Antworten`)} ist kein Preis bekannt.`,
  },
  sandboxes: {
    title: "Sandboxes",
    inUse: (count) => `${count} in Gebrauch`,
    now: "in Gebrauch",
    idle: (ago) => `seit ${ago} unbenutzt`,
    drifted: "Einstellungen geändert",
    none: "Keine Sandboxes.",
  },
  dispatcher: {
    title: "Dispatcher",
    none: "Kein Dispatcher läuft, deshalb starten keine Aufgaben.",
    command: "hermes kanban daemon",
    host: "Rechner",
    alive: (alive, all) => `${alive} von ${all} laufen`,
    running: "Läuft",
    onHost: (count, places) => (places === null ? `${count}` : `${count} von ${places}`),
    lastPass: "Letzter Durchgang",
    board: "Boards",
    gone: "läuft nicht",
    error: "Letzter Fehler",
  },
  steps: {
    model: { text: "Wählen Sie ein Modell und hinterlegen Sie seinen Schlüssel", command: "hermes setup" },
    profile: {
      text: "Legen Sie ein Profil an, das Aufgaben bearbeitet",
      command: "hermes profile create coder",
    },
    task: {
      text: "Legen Sie eine Aufgabe an",
      command: 'hermes kanban create "Fix the login" --assignee coder',
    },
    done: "erledigt",
  },
  failedPart: (part, message) => `${part}: ${message}`,
};
