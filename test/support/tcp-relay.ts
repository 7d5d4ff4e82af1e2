import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A port that forwards to a server until a test interferes. */
export interface TcpRelay extends AsyncDisposable {
  readonly port: number;
  /** Breaks all connections; new ones are accepted. */
  cut(): void;
  /** Stops forwarding in both directions, but leaves the connections open. Resolves when a client writes. */
  freeze(): Promise<void>;
  /** Breaks the next connection once its client has written this many bytes. */
  cutAfterUpload(bytes: number): void;
  /** Refuses connections, or accepts them again. */
  setDown(isDown: boolean): void;
}

export async function startTcpRelay(target: {
  readonly host: string;
  readonly port: number;
}): Promise<TcpRelay> {
  const pairs = new Set<readonly [Socket, Socket]>();
  let isDown = false;
  let uploadLimit: number | undefined;
  const server = createServer((client) => {
    if (isDown) return void client.destroy();
    const upstream = connect(target.port, target.host);
    const pair = [client, upstream] as const;
    pairs.add(pair);
    for (const socket of pair) {
      socket.on("error", () => undefined);
      socket.on("close", () => {
        pairs.delete(pair);
        client.destroy();
        upstream.destroy();
      });
    }
    if (uploadLimit !== undefined) {
      let left = uploadLimit;
      uploadLimit = undefined;
      client.on("data", (chunk: Buffer) => {
        left -= chunk.length;
        if (left < 0) client.destroy();
      });
    }
    client.pipe(upstream);
    upstream.pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    for (const [client, upstream] of pairs) {
      client.destroy();
      upstream.destroy();
    }
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    freeze: () =>
      new Promise((resolve) => {
        for (const [client, upstream] of pairs) {
          upstream.unpipe(client).pause();
          client
            .unpipe(upstream)
            .on("data", () => resolve())
            .resume();
        }
      }),
    cutAfterUpload(bytes) {
      uploadLimit = bytes;
    },
    setDown(value) {
      isDown = value;
      if (isDown) cut();
    },
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
