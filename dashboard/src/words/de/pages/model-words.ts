import type { PageWords } from "../../en/pages/page-words.ts";
import { amount, counted } from "../../format.ts";

/** The models and keys of a profile. */
export const modelWords: PageWords["models"] = {
  title: (profile) => `Modelle und Schlüssel von ${profile}`,
  current: "Standardmodell",
  none: "Noch kein Modell. Hinterlegen Sie unten einen Schlüssel und wählen Sie dann ein Modell.",
  at: (address) => `auf ${address}`,
  from: (place) => `aus ${place}`,
  ofProvider: "die Vorgabe seines Anbieters",
  key: (variable) => `Schlüssel ${variable}`,
  noKey: "ohne Schlüssel",
  fixed: (place) => `Festgelegt durch ${place}. Ändern Sie es dort; hier lässt es sich nicht speichern.`,
  chosen: (reference) => `Neue Sitzungen verwenden ${reference}.`,
  keys: {
    title: "Schlüssel",
    hint: "Ein Schlüssel wird in .env gespeichert und nie wieder angezeigt.",
    overridden:
      "model.api_key ist gesetzt, und sein Server bekommt diesen Schlüssel statt der hier genannten.",
    none: "kein Schlüssel",
    ready: "bereit",
    untested: "noch nicht benutzt",
    used: "benutzt",
    refused: "vom Anbieter abgelehnt",
    cooling: (time) => `Limit erreicht, wird bis ${time} übersprungen`,
    works: (model) => `funktioniert: ${model} antwortet`,
    isFixed: "in der Umgebung des Dashboards gesetzt; ändern Sie ihn dort",
    set: "Schlüssel hinterlegen …",
    another: "Weiterer Schlüssel …",
    replace: "Ersetzen …",
    test: "Testen",
    testHint: "Sendet eine kurze Anfrage",
    remove: "Entfernen …",
    setTitle: (provider) => `Schlüssel für ${provider}`,
    replaceTitle: (variable) => `${variable} ersetzen`,
    field: "Schlüssel",
    fieldHint: (variable) => `Wird als ${variable} in .env gespeichert. Leerzeichen am Rand werden entfernt.`,
    save: "Schlüssel speichern",
    stored: (variable) => `${variable} gespeichert.`,
    removeTitle: (variable) => `${variable} entfernen?`,
    removeText: "Er wird aus .env gelöscht und lässt sich hier weder anzeigen noch zurückholen.",
    removeNow: "Schlüssel entfernen",
    removed: (variable) => `${variable} entfernt.`,
    more: (count) => `${counted(count, "weiterer Anbieter", "weitere Anbieter")} ohne Schlüssel`,
  },
  catalogue: {
    title: "Modelle",
    find: "Modell suchen",
    refresh: "Listen aktualisieren",
    refreshed: "Die Listen sind aktuell.",
    noneFound: "Kein Modell passt.",
    use: "Verwenden",
    isDefault: "Standard",
    favourite: "Favorit",
    wellKnown: "bekannte Modelle",
    listed: "Liste von",
    unusable: "kein Schlüssel",
    window: (tokens) => (tokens === null ? "" : `${amount(tokens)} Tokens`),
    price: (price) =>
      price === null
        ? ""
        : price.input === 0 && price.output === 0
          ? "kostenlos"
          : `${price.input.toLocaleString("de")} $ Eingabe, ${price.output.toLocaleString("de")} $ Ausgabe`,
    vision: "Bilder",
    reasoning: "Denken",
    more: (count) =>
      `${counted(count, "weiteres Modell", "weitere Modelle")}: Tippen Sie, um eines zu finden.`,
  },
};
