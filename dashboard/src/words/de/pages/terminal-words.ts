import type { PageWords } from "../../en/pages/page-words.ts";

/** Terminals in the browser. */
export const terminalWords: PageWords["terminals"] = {
  title: "Terminals",
  none: "Keine Terminals sind offen.",
  open: "Öffnen",
  close: "Schließen",
  attached: "auf einer anderen Seite zu sehen",
  newChat: "Chat in einem Terminal",
  opening: "Wird geöffnet",
  kinds: { sandbox: "Shell", job: "Job", chat: "Chat" },
  nameOf: (kind, subject) => (subject === null ? kind : `${kind} · ${subject}`),
  label: (name) => `Terminal: ${name}`,
  leave: "Umschalt+Esc verlässt das Terminal",
  back: "Sandboxes",
  connecting: "Verbindet",
  lost: "Keine Verbindung. Das Terminal läuft weiter.",
  takenOver: "Dieses Terminal ist auf einer anderen Seite zu sehen.",
  show: "Hier anzeigen",
  ended: "Dieses Terminal ist beendet.",
  exited: (code) => `Das Programm wurde mit Exit-Code ${code} beendet.`,
  closeTitle: "Dieses Terminal schließen?",
  closeText: "Das beendet das Programm darin. Ein Job, den es zeigt, läuft weiter.",
};
