import { AppError } from "../../../lib/errors.ts";
import type { Chats } from "../../chat/chats.ts";
import type { LiveSource } from "../live-source.ts";

/** Publishes in which sessions a turn of this server begins or ends, or the queue changes. */
export function createChatSource(chats: Pick<Chats, "onChange">): LiveSource {
  return {
    kind: "always",
    async open(_name, sink) {
      const stop = chats.onChange((change) => sink.publish("chat-change", change));
      return { [Symbol.asyncDispose]: async () => stop() };
    },
  };
}

/** Publishes the changes of one turn of this server, letter by letter. The topic is `turn:ID`. */
export function createTurnSource(chats: Pick<Chats, "find">): LiveSource {
  return {
    kind: "turn",
    async open(id, sink) {
      const turn = chats.find(id);
      if (turn === undefined) throw new AppError("turn-not-found", "This server does not run that turn.");
      const stop = turn.follow((change, patches) =>
        sink.publish("turn-event", { turn: id, change, patches: [...patches] }),
      );
      return { [Symbol.asyncDispose]: async () => stop() };
    },
  };
}
