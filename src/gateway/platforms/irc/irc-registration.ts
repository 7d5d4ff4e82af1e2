import { PlatformFailure } from "../../platform.ts";
import type { IrcLine } from "./irc-line.ts";
import type { IrcOptions } from "./options.ts";

/** Requested if the server offers them: the account, the time and the id of each message, and login by SASL. */
const REQUESTED_CAPABILITIES = ["account-tag", "server-time", "message-tags", "sasl"];

interface Server {
  readonly options: IrcOptions;
  write(line: string): boolean;
  next(): Promise<IrcLine | undefined>;
}

/** Introduces us to the server, and resolves with our nickname once it has accepted us. Throws a `PlatformFailure`. */
export async function registerOnServer({ options, write, next }: Server): Promise<string> {
  const { nickname, server_password: password, nickserv_password: secret } = options;
  const offered: string[] = [];
  let farewell: string | undefined;
  let hasLoggedIn = false;
  write("CAP LS 302");
  if (password !== "") write(`PASS :${password}`);
  write(`NICK ${nickname}`);
  write(`USER ${nickname} 0 * :Hermes`);
  for (let line = await next(); line !== undefined; line = await next()) {
    const { command, parameters } = line;
    switch (command) {
      case "CAP": {
        const verb = parameters[1]?.toUpperCase();
        if (verb === "LS") {
          offered.push(...(parameters.at(-1) ?? "").split(" ").map((name) => name.replace(/=.*/s, "")));
          if (parameters[2] === "*") break; // more lines follow
          const wanted = REQUESTED_CAPABILITIES.filter(
            (name) => offered.includes(name) && (name !== "sasl" || secret !== ""),
          );
          write(wanted.length === 0 ? "CAP END" : `CAP REQ :${wanted.join(" ")}`);
        } else if (verb === "ACK" && (parameters.at(-1) ?? "").split(" ").includes("sasl")) {
          write("AUTHENTICATE PLAIN");
        } else write("CAP END");
        break;
      }
      case "AUTHENTICATE": {
        const login = Buffer.from(`${nickname}\0${nickname}\0${secret}`).toString("base64");
        write(`AUTHENTICATE ${login}`);
        break;
      }
      case "903":
        hasLoggedIn = true;
        write("CAP END");
        break;
      case "902":
      case "904":
      case "905":
        throw new PlatformFailure(
          "refused",
          "the server refused the password of our nickname (nickserv_password)",
        );
      case "464":
        throw new PlatformFailure("refused", "the server refused its password (server_password)");
      case "465":
        throw new PlatformFailure("refused", `the server has banned us: ${parameters.at(-1)}`);
      case "432":
        throw new PlatformFailure("misconfigured", `the server does not accept the nickname ${nickname}`);
      case "433":
        // Often this is our own earlier connection, which the server has not closed yet.
        throw new PlatformFailure("unreachable", `the nickname ${nickname} is in use`, {
          retryAfterMs: 15_000,
        });
      case "ERROR":
        farewell = parameters.at(-1);
        break;
      case "001":
        if (secret !== "" && !hasLoggedIn) write(`PRIVMSG NickServ :IDENTIFY ${secret}`);
        return parameters[0] ?? nickname;
      default:
    }
  }
  throw new PlatformFailure("unreachable", farewell ?? "the server closed the connection");
}
