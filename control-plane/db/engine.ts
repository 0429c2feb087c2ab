/** The two engines: SQLite in this process, and PostgreSQL. Decides which SQL a query gets. */
import {
  PostgresAdapter,
  sql,
  type Expression,
  type OperationNode,
  type RawBuilder,
  type RawNode,
} from 'kysely';
import type { Db } from './tables.ts';

export type Engine = 'sqlite' | 'postgres';

/** The engine that a database or a transaction of it runs on. */
export function engineOf(db: Db): Engine {
  return db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite';
}

/** A raw node with the text of PostgreSQL beside that of SQLite. */
interface NodeByEngine extends RawNode {
  postgres: OperationNode;
}

/** The node that PostgreSQL compiles in place of this one; null for the same. */
export function nodeOfPostgres(node: RawNode): OperationNode | null {
  return 'postgres' in node ? (node as NodeByEngine).postgres : null;
}

class ExpressionByEngine<T> implements Expression<T> {
  readonly #texts: Record<Engine, RawBuilder<T>>;

  constructor(texts: Record<Engine, RawBuilder<T>>) {
    this.#texts = texts;
  }

  get expressionType(): T | undefined {
    return undefined;
  }

  toOperationNode(): NodeByEngine {
    const { sqlite, postgres } = this.#texts;
    return { ...sqlite.toOperationNode(), postgres: postgres.toOperationNode() };
  }
}

/** SQL that differs by engine. The text is chosen when the query is compiled. */
export function byEngine<T>(texts: Record<Engine, RawBuilder<T>>): RawBuilder<T> {
  return sql<T>`${new ExpressionByEngine(texts)}`;
}
