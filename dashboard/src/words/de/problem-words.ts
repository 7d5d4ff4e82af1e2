import type { Words } from "../en.ts";

/** Messages for failures, with German ones for those of the server that people meet most. */
export const problemWords: Words["problems"] = {
  unreachable: "Der Server ist nicht erreichbar.",
  lost: "Die Verbindung ist unterbrochen, deshalb wurde nichts gesendet. Versuchen Sie es wieder, sobald die Seite live ist.",
  unreadable: (status) =>
    `Der Server hat eine Antwort geschickt, die diese Seite nicht lesen kann (${status}).`,
  signedOut: "Sie sind abgemeldet.",
  notAllowed: (scope) => `Diese Anmeldung darf das nicht; nötig ist das Recht „${scope}“.`,
  readOnly: "Diese Anmeldung darf nur lesen.",
  known: {
    "signed-out": "Dieser Browser ist nicht angemeldet.",
    "scope-missing": "Diese Anmeldung darf das nicht.",
    "attempts-spent": "Zu viele Versuche. Warten Sie eine Minute.",
    "provider-unreachable":
      "Der Anbieter für die Anmeldung ist nicht erreichbar. Versuchen Sie es später noch einmal.",
    "route-not-found": "Diese Seite gibt es nicht.",
  },
};
