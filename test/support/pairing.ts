import { createPairing, type Pairing } from "../../src/gateway/access/pairing.ts";
import { openGatewayDatabase } from "../../src/gateway/store/gateway-database.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import { neverAborted } from "../../src/lib/time/never-aborted.ts";

/** The requests of strangers in a gateway's database, as the gateway itself stores them. */
export interface OpenPairing extends Disposable {
  readonly pairing: Pairing;
  /** A stranger writes; returns the code that the gateway would send. */
  ask(platform: string, id: string, name: string): Promise<string>;
}

export async function openPairing(path: string): Promise<OpenPairing> {
  const database = await openGatewayDatabase(path, systemClock, neverAborted);
  const pairing = createPairing(database);
  return {
    pairing,
    ask: async (platform, id, name) =>
      (await database.write(
        () => pairing.request(platform, { id, name, isBot: false, isProven: true }),
        neverAborted,
      )) ?? "",
    [Symbol.dispose]: () => database[Symbol.dispose](),
  };
}
