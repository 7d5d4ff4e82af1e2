import type { PageWords } from "../../en/pages/page-words.ts";
import { counted, joined, money } from "../../format.ts";

/** The profiles of a home. */
export const profileWords: PageWords["profiles"] = {
  title: "Profile",
  hint: "Jedes Profil hat eigene Einstellungen, Schlüssel und Sitzungen.",
  create: "Neues Profil",
  active: "von Befehlen benutzt",
  shown: "gerade angezeigt",
  noModel: "kein Modell",
  noDescription: "Keine Beschreibung.",
  facts: (sessions, costUsd) => `${counted(sessions, "Sitzung", "Sitzungen")} · ${money(costUsd)}`,
  problems: (count) => `${counted(count, "Problem", "Probleme")} in den Einstellungen`,
  gateway: "Gateway läuft",
  show: "Seine Seiten anzeigen",
  use: "Für Befehle verwenden",
  used: (name) => `Befehle ohne -p verwenden jetzt ${name}.`,
  describe: "Beschreiben …",
  clone: "Kopieren …",
  remove: "Löschen …",
  more: (name) => `Weitere Aktionen für ${name}`,
  form: {
    createTitle: "Neues Profil",
    cloneTitle: (name) => `${name} kopieren`,
    name: "Name",
    nameHint: "Buchstaben a-z, Ziffern, - und _.",
    description: "Wofür es da ist",
    from: "Übernehmen von",
    empty: "nichts: nur das Modell des Profils default",
    everything:
      "Alles außer dem Verlauf übernehmen, nicht nur Einstellungen, Schlüssel, Persona, Skills und Erinnerungen",
    channels: "Auch Konten bei Messengern übernehmen, die zwei Profile nicht gleichzeitig benutzen sollten",
    save: "Profil anlegen",
    created: (name) => `${name} angelegt.`,
  },
  describeForm: {
    title: (name) => `${name} beschreiben`,
    displayName: "Angezeigter Name",
    save: "Speichern",
    saved: "Gespeichert.",
  },
  removal: {
    title: (name) => `${name} löschen?`,
    reading: "Es wird gelesen, was das beenden würde …",
    kept: (home) =>
      `Einstellungen, Schlüssel und Sitzungen werden aus ${home} verschoben und dreißig Tage aufbewahrt.`,
    sessions: (count) => `${counted(count, "Sitzung lässt", "Sitzungen lassen")} sich nicht mehr öffnen.`,
    sandboxes: (names) =>
      `${names.length === 1 ? "Seine Sandbox wird" : "Seine Sandboxes werden"} mit den Dateien darin entfernt: ${joined(names)}.`,
    tasks: (board, count) =>
      `${counted(count, "offene Aufgabe bleibt", "offene Aufgaben bleiben")} auf dem Board ${board} ohne Profil.`,
    setting: (profile, key) => `Die Einstellung ${key} von ${profile} nennt es noch.`,
    gateway: "Sein Gateway läuft und verliert seinen Ordner; halten Sie es zuerst an.",
    confirm: (name) => `Geben Sie ${name} ein, um es zu löschen`,
    now: "Profil löschen",
    done: (name, keptIn) => `${name} gelöscht. Seine Daten liegen in ${keptIn}.`,
  },
};
