import { DatabaseSync } from 'node:sqlite';

/**
 * Takes a lock between processes, or gives null while another holds it. It is one of the operating system
 * on an SQLite file, so it ends with the process, however that ends. Throws when the file cannot be used.
 */
export function tryFileLock(file: string): Disposable | null {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec('begin exclusive');
  } catch (error) {
    database.close();
    if (error instanceof Error && /locked|busy/i.test(error.message)) return null;
    throw error;
  }
  return {
    [Symbol.dispose]() {
      database.close();
    },
  };
}
