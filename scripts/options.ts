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

/** An error of a script is one line, without its stack, and the exit status. */
export async function runScript(
  main: () => Promise<void>,
  { before = '', status = 1 }: { before?: string; status?: number } = {},
): Promise<void> {
  try {
    await main();
  } catch (error) {
    console.error(`${before}${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = status;
  }
}

/** For a script that runs until somebody ends it: the signal aborts then, or by `stop`. */
export function untilStopped(): { signal: AbortSignal; stopped: Promise<void>; stop: () => void } {
  const stopping = new AbortController();
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const stop = (): void => {
    stopping.abort();
    resolve();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  // Nobody reads any more (`npm start | head`): leaving the programs behind would be worse.
  process.stdout.on('error', stop);
  return { signal: stopping.signal, stopped, stop };
}
