import { parseArgs } from 'node:util';

/** Ends a script that was asked for what it cannot do. */
export function refuse(message: string): never {
  console.error(message);
  process.exit(2);
}

/** As `parseArgs`; a mistake in the options is one line and the exit status 2. */
export const readOptions: typeof parseArgs = (config) => {
  try {
    return parseArgs(config);
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
};
