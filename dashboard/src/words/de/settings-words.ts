import type { Words } from "../en.ts";
import { counted, number } from "../format.ts";

/** The settings of a profile, as a form and as text. */
export const settingsWords: Words["settings"] = {
  title: (profile) => `Einstellungen von ${profile}`,
  find: "Einstellung suchen",
  noneFound: "Keine Einstellung hat diesen Namen oder diese Beschreibung.",
  sections: "Abschnitte",
  views: "Ansicht",
  form: "Formular",
  yaml: "YAML",
  file: (path) => `In ${path}`,
  show: (section) => `${section} anzeigen`,
  showLine: (line) => `Zeile ${number(line)} anzeigen`,
  origins: {
    file: (place) => `aus ${place}`,
    default: "Vorgabe",
    standard: (text) => `Vorgabe ${text}`,
    empty: "leer",
  },
  fixed: (place) => `Festgelegt durch ${place}. Ändern Sie es dort; hier lässt es sich nicht speichern.`,
  unused: (backends) => `Nicht in Gebrauch: nur mit terminal.backend ${backends.join(" oder ")}.`,
  masked:
    "Enthält ein Geheimnis, das nicht angezeigt wird. Bearbeiten Sie es auf dem Rechner: hermes config edit",
  perLine: "Ein Eintrag pro Zeile",
  takes: (expected) => `Erlaubt: ${expected}.`,
  yes: "an",
  no: "aus",
  notSet: "nicht gesetzt",
  useDefault: "Vorgabe verwenden",
  isRemoved: "Wird aus config.yaml entfernt, sodass die Vorgabe gilt.",
  undo: "Rückgängig",
  secret: {
    set: "Gesetzt",
    notSet: "Nicht gesetzt",
    setIt: "Setzen …",
    replace: "Ersetzen …",
    remove: "Entfernen …",
  },
  conflict: (theirs) => `Anderswo auf ${theirs} geändert, während Sie es bearbeitet haben.`,
  conflictRemoved: "Anderswo aus config.yaml entfernt, während Sie es bearbeitet haben.",
  useTheirs: "Das übernehmen",
  keepMine: "Meines behalten",
  changes: (count) => counted(count, "Änderung", "Änderungen"),
  toDecide: (count) =>
    `${counted(count, "Einstellung wurde", "Einstellungen wurden")} auch anderswo geändert: Wählen Sie eine Fassung.`,
  discard: "Verwerfen",
  save: "Speichern",
  saved: (count) => `${counted(count, "Einstellung", "Einstellungen")} gespeichert.`,
  savedNothing: "Diese Werte galten schon, deshalb wurde nichts geschrieben.",
  stale:
    "config.yaml wurde inzwischen anderswo geändert, deshalb wurde nichts gespeichert. Prüfen Sie das Ergebnis und speichern Sie noch einmal.",
  text: {
    label: "Text von config.yaml",
    save: "Text speichern",
    saved: "config.yaml gespeichert.",
    masked:
      "config.yaml enthält ein Geheimnis, das hier verdeckt ist; dieser Text lässt sich deshalb nicht bearbeiten. Verschieben Sie das Geheimnis nach .env:",
    maskedCommand: "hermes config edit",
    stale: "config.yaml wurde anderswo geändert, seit Sie angefangen haben.",
    theirs: "Jetzt in der Datei",
    mine: "Ihre Fassung",
    keepMine: "Mit meiner weitermachen",
    useTheirs: "Meine verwerfen",
    revert: "Änderungen verwerfen",
  },
};
