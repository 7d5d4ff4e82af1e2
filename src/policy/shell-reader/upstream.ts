interface Source<Program> {
  readonly stage: number;
  readonly program: Program;
}

/**
 * The programs whose output a program may read: earlier stages of its pipeline, substitutions in its arguments, and the
 * upstream of the enclosing constructs. The stages of a pipeline share one map, so that a long pipeline takes linear memory.
 */
export class Upstream<Program extends { readonly name: string }> {
  readonly #sources: Map<string, Source<Program>>;
  readonly #stage: number;
  readonly #outer: Upstream<Program> | undefined;

  private constructor(
    sources: Map<string, Source<Program>>,
    stage: number,
    outer: Upstream<Program> | undefined,
  ) {
    this.#sources = sources;
    this.#stage = stage;
    this.#outer = outer;
  }

  /** The upstream of the first stage of a pipeline. `outer` is that of the enclosing construct. */
  static begin<Program extends { readonly name: string }>(outer?: Upstream<Program>): Upstream<Program> {
    return new Upstream(new Map(), 0, outer);
  }

  /** The upstream of the next stage. `programs` are those of this stage. */
  after(programs: readonly Program[]): Upstream<Program> {
    for (const program of programs)
      if (!this.#sources.has(program.name)) this.#sources.set(program.name, { stage: this.#stage, program });
    return new Upstream(this.#sources, this.#stage + 1, this.#outer);
  }

  /** The first program with this name. */
  find(name: string): Program | undefined {
    const source = this.#sources.get(name);
    return source && source.stage < this.#stage ? source.program : this.#outer?.find(name);
  }

  get isEmpty(): boolean {
    return this.#stage === 0 && (this.#outer?.isEmpty ?? true);
  }
}
