// Parts of undici that can be loaded without the rest of it: `fetch` and its classes take several times as long as all of
// these, and bring in Node's own copy of undici besides.
declare module "undici/lib/dispatcher/agent.js" {
  import { Agent } from "undici";
  export = Agent;
}
declare module "undici/lib/dispatcher/proxy-agent.js" {
  import { ProxyAgent } from "undici";
  export = ProxyAgent;
}
