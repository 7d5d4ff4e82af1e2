/** What a call ended in. A failure is something the model can act on, never an exception. */
export interface ToolResult {
  readonly failed: boolean;
  /** What the model reads. */
  readonly text: string;
  /** What a person is shown besides, such as a diff. */
  readonly display?: string | undefined;
}

export interface ToolCallContext {
  readonly callId: string;
  /** Aborted when the turn is stopped: whatever the call started must then end, and the call soon after. */
  readonly signal: AbortSignal;
  /** A line for a person who waits. */
  onProgress(text: string): void;
}

/** Something that the model can call; made for one session, whose state it may keep. */
export interface Tool {
  readonly name: string;
  /** The group by which it is switched on and off. */
  readonly toolset: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Whether a call may change something, so that the same call can have another result afterwards. */
  readonly mutates: boolean;
  /** Never runs beside another call. */
  readonly exclusive?: boolean | undefined;
  /** The shell commands that a call would run, which are judged before it may. */
  commandsOf?(input: string): readonly string[];
  /** What became of a call whose process died while it ran, in a sentence; undefined when nothing can be said. */
  lookUp?(callId: string, signal: AbortSignal): Promise<string | undefined>;
  /** Takes JSON as the model wrote it. Resolves however the call ends; a throw is a bug of the tool. */
  call(input: string, context: ToolCallContext): Promise<ToolResult>;
}
