import type { PageWords } from "../../en/pages/page-words.ts";
import { counted } from "../../format.ts";

/** The health of the machine and the server, and the audit. */
export const healthWords: PageWords["health"] = {
  tabs: { label: "Zustand", checks: "Prüfungen", audit: "Zugriffe" },
  summary: (problems, warnings) => {
    if (problems + warnings === 0) return "Alles in Ordnung.";
    const parts = [
      ...(problems > 0 ? [counted(problems, "Problem", "Probleme")] : []),
      ...(warnings > 0 ? [counted(warnings, "Warnung", "Warnungen")] : []),
    ];
    return `${parts.join(" und ")} gefunden.`;
  },
  again: "Noch einmal prüfen",
  checking: "Wird geprüft …",
  todo: "Was zu tun ist",
  fine: "In Ordnung",
  statuses: { ok: "ok", note: "Hinweis", warn: "Warnung", fail: "Problem" },
  server: {
    title: "Dieser Server",
    version: "Version",
    node: "Node.js",
    process: "Prozess",
    started: "Gestartet",
    memory: "Speicher",
    streams: "Offene Seiten",
    topics: "Verfolgt",
    streamCount: (count) => counted(count, "Verbindung", "Verbindungen"),
    topicCount: (count) => counted(count, "Thema", "Themen"),
  },
  dispatchers: {
    title: "Dispatcher",
    none: "Kein Dispatcher läuft.",
    alive: "läuft",
    gone: "läuft nicht",
    on: (host) => `auf ${host}`,
  },
  audit: {
    none: "Noch nichts.",
    noneHint: "Hier stehen Anmeldungen, Ablehnungen und geänderte Einstellungen.",
    older: "Ältere Einträge anzeigen",
    admin: "Die Zugriffe darf nur eine Anmeldung mit dem Recht admin lesen.",
    columns: { time: "Zeit", what: "Was", outcome: "Ergebnis", who: "Wer", from: "Von" },
    outcomes: { done: "erledigt", refused: "abgelehnt" },
    actions: {
      "sign-in": "Angemeldet",
      "sign-out": "Abgemeldet",
    },
  },
};
