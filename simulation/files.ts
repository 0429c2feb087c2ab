/** Databases that programs have open, by the folder of their host; and what happens as they are written. */
import { join } from 'node:path';
import sqlite from 'node:sqlite';
import { syncBuiltinESMExports } from 'node:module';
import SqliteDatabase from 'better-sqlite3';
import { runningHost } from './world.ts';

const opened = new Map<object, { file: string; close: () => void }>();

/** As the kernel does it when a process ends. */
export function closeFiles(folder: string): void {
  for (const [database, { file, close }] of opened) {
    if (!file.startsWith(join(folder, '/'))) continue;
    opened.delete(database);
    close();
  }
}

/** Statements of control planes so far. */
export const statements = { count: 0 };

// Parts of these classes are put in the place of others.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Any = any;
function watchStatements(statement: object, note: () => void): void {
  const prototype = Object.getPrototypeOf(statement) as Any;
  for (const name of ['run', 'all', 'get']) {
    const real = prototype[name] as (...given: unknown[]) => unknown;
    prototype[name] = function (this: unknown, ...given: unknown[]) {
      note();
      runningHost()?.onStatement?.();
      return real.apply(this, given);
    };
  }
}
const ofControlPlane = (SqliteDatabase as Any).prototype;
for (const name of ['pragma', 'exec']) {
  const real = ofControlPlane[name] as (...given: unknown[]) => unknown;
  ofControlPlane[name] = function (this: SqliteDatabase.Database, ...given: unknown[]) {
    statements.count += 1;
    if (!opened.has(this)) opened.set(this, { file: this.name, close: () => this.close() });
    return real.apply(this, given);
  };
}
const one = new SqliteDatabase(':memory:');
watchStatements(one.prepare('select 1'), () => (statements.count += 1));
one.close();

const RealDatabase = sqlite.DatabaseSync;
sqlite.DatabaseSync = class extends RealDatabase {
  constructor(...given: ConstructorParameters<typeof RealDatabase>) {
    super(...given);
    opened.set(this, {
      file: String(given[0]),
      close: () => {
        if (this.isOpen) this.close();
      },
    });
  }
};
const other = new RealDatabase(':memory:');
watchStatements(other.prepare('select 1'), () => undefined);
other.close();
syncBuiltinESMExports();
