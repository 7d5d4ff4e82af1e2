import type { Need } from "../../../../src/api/contract/overview.ts";
import type { Api } from "../../data/api.ts";

/** A person's reply to something that waits. */
export type Reply =
  | { readonly kind: "answer" | "changes"; readonly text: string }
  | { readonly kind: "approve"; readonly scope: "once" | "session" }
  | { readonly kind: "deny" | "review" | "retry" };

/** Sends a reply with one request. The server stores an answer and releases the task in one transaction. */
export async function sendReply(api: Api, { task, approval }: Need, reply: Reply): Promise<void> {
  const at =
    task === null ? "" : `boards/${encodeURIComponent(task.board)}/tasks/${encodeURIComponent(task.id)}`;
  const decide = (body: object): Promise<unknown> =>
    api.send("POST", `approvals/${encodeURIComponent(approval?.id ?? "")}`, {
      ...body,
      profile: approval?.profile,
    });
  const move = (body: object): Promise<unknown> => api.send("POST", `${at}/moves`, body);
  switch (reply.kind) {
    case "answer":
      if (approval !== null) await decide({ verdict: "answered", text: reply.text });
      else await api.send("POST", `${at}/answer`, { body: reply.text, unblock: true });
      return;
    case "approve":
      await decide({ verdict: "approved", scope: reply.scope });
      return;
    case "deny":
      await decide({ verdict: "denied" });
      return;
    case "review":
      await move({ move: "approve" });
      return;
    case "changes":
      await move({ move: "request-changes", reason: reply.text });
      return;
    case "retry":
      await move({ move: "retry" });
  }
}
