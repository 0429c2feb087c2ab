/** Output of the commands of both programs: JSON, and failures to write it. */

/** A reader may stop before the end, as `head` does. Any other end of the output is a failure. */
export function watchOutput(exitCode: number): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    process.stderr.write(
      `the output cannot be written: ${error.message}; free some space, or name another output\n`,
    );
    process.exit(exitCode);
  });
  // There is no other stream to report it on.
  process.stderr.on('error', () => undefined);
}

/** True for a terminal that moves its cursor and shows colours, and is to do so. */
export function takesEscapes(
  { isTTY }: { readonly isTTY?: boolean | undefined },
  { TERM, NO_COLOR }: Readonly<Record<string, string | undefined>>,
): boolean {
  // Absent for a file or a pipe.
  return isTTY === true && TERM !== 'dumb' && (NO_COLOR === undefined || NO_COLOR === '');
}

let isPrinted = false;

/** A command begins: none of it is printed. */
export function beginOutput(): void {
  isPrinted = false;
}

export function printJson(value: unknown): void {
  isPrinted = true;
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** A program that asked for JSON gets one document also of a failure; `given` is the command line. */
export function printFailure(given: readonly string[], error: string, exitCode: number): void {
  const isAsked = / (--json|--report[ =]json) /.test(` ${given.join(' ')} `);
  if (isAsked && !isPrinted) printJson({ error: error.replace(/^error: /, ''), exitCode });
}
