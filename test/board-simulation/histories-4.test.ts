import { describe } from "vitest";
import { historiesContract } from "./histories.contract.ts";

describe("share 4 of many dispatchers, hosts and faults in virtual time", () => historiesContract(4));
