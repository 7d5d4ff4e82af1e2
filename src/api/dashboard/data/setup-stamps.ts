/** Texts that change when a file does, to notice changes of any process without reading the files. */
export interface SetupStamps {
  read(): Promise<{
    /** The settings and keys, by profile. */
    readonly settings: ReadonlyMap<string, string>;
    /** The records of the gateway, by profile. */
    readonly gateways: ReadonlyMap<string, string>;
    /** The list of profiles, their descriptions and which one is active. */
    readonly profiles: string;
  }>;
}
