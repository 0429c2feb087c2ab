import type { Compilable, CompiledQuery } from 'kysely';
import { engineOf, type Engine } from './engine.ts';
import type { Db } from './tables.ts';

class Placeholder {
  readonly name: PropertyKey;

  constructor(name: PropertyKey) {
    this.name = name;
  }
}

/** A statement whose SQL is built once; a run costs little more than the driver. */
export interface PreparedQuery<Args, Row> {
  run(db: Db, args: Args): Promise<Row[]>;
}

/**
 * Builds a query once with placeholders and compiles it at its first run. Building takes Kysely
 * about a hundred microseconds, which matters on hot paths only.
 */
export function prepareQuery<Args extends object, Row = unknown>(
  build: (db: Db, argument: <K extends keyof Args>(name: K) => Args[K]) => Compilable<Row>,
): PreparedQuery<Args, Row> {
  const byEngine: Partial<Record<Engine, CompiledQuery<Row>>> = {};
  // The placeholder only passes through Kysely into `parameters`; nothing uses it as a value.
  const argument = <K extends keyof Args>(name: K): Args[K] =>
    new Placeholder(name) as unknown as Args[K];
  return {
    async run(db, args) {
      const compiled = (byEngine[engineOf(db)] ??= build(db, argument).compile());
      const parameters = compiled.parameters.map((parameter) =>
        parameter instanceof Placeholder ? args[parameter.name as keyof Args] : parameter,
      );
      const { rows } = await db.executeQuery<Row>({ ...compiled, parameters });
      return rows;
    },
  };
}
