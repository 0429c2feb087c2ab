import { engineOf } from './engine.ts';
import type { Db } from './tables.ts';

/** Runs reads that all see the database as it is at the first of them. */
export async function inSnapshot<T>(db: Db, read: (db: Db) => Promise<T>): Promise<T> {
  const transaction = db.transaction();
  // A transaction of SQLite sees nothing else anyway.
  if (engineOf(db) === 'sqlite') return transaction.execute(read);
  return transaction.setIsolationLevel('repeatable read').setAccessMode('read only').execute(read);
}
