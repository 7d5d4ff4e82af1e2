import { type IncomingMessage, request } from "node:http";
import { json, text } from "node:stream/consumers";

/** The most frequent requests of tests to the engine, over its socket: each start of its client takes 25 ms of a core. */
export interface EngineClient {
  /** Full ids of the profile's containers, in any state. */
  containersOf(profileId: string): Promise<string[]>;
  /** The output of the client for `top CONTAINER -eo pid,args`. */
  top(container: string): Promise<string>;
  /** Removes containers, even running ones, with their anonymous volumes. */
  remove(containers: readonly string[]): Promise<void>;
  /** Removes the images of the profile's snapshots and forks. */
  removeImagesOf(profileId: string): Promise<void>;
}

export function createEngineClient(socketPath: string): EngineClient {
  const send = async (method: string, path: string) => {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      request({ socketPath, method, path }, resolve).once("error", reject).end();
    });
    const { statusCode = 500 } = answer;
    if (statusCode >= 400) throw new Error(`${method} ${path}: ${statusCode} ${await text(answer)}`);
    return answer;
  };
  return {
    async containersOf(profileId) {
      const filters = JSON.stringify({ label: [`hermes-profile-id=${profileId}`] });
      const answer = await send("GET", `/containers/json?${new URLSearchParams({ all: "1", filters })}`);
      return ((await json(answer)) as { Id: string }[]).map(({ Id }) => Id);
    },
    async top(container) {
      const answer = await send("GET", `/containers/${container}/top?ps_args=-eo%20pid,args`);
      const { Titles, Processes } = (await json(answer)) as { Titles: string[]; Processes: string[][] };
      return [Titles, ...Processes].map((words) => words.join(" ")).join("\n");
    },
    async removeImagesOf(profileId) {
      const filters = JSON.stringify({ label: [`hermes-profile-id=${profileId}`] });
      const answer = await send("GET", `/images/json?${new URLSearchParams({ filters })}`);
      for (const { RepoTags } of (await json(answer)) as { RepoTags: string[] | null }[]) {
        for (const tag of RepoTags ?? []) await send("DELETE", `/images/${tag}`).then(text, () => undefined);
      }
    },
    async remove(containers) {
      await Promise.all(
        containers.map(async (id) => text(await send("DELETE", `/containers/${id}?force=1&v=1`))),
      );
    },
  };
}
