/** Whether what a program says tells that a process of it was killed, rather than that its target failed. */

/** As Node, npm, shells, browsers and what drives browsers say it. */
const signs = [
  ...['SIGKILL', 'Killed', 'exit code 137', 'exit code: 137', 'code=137', 'with code 137'],
  ...['exited unexpectedly', 'ENOMEM', 'Cannot allocate memory'],
  ...['Page crashed', 'Target crashed', 'has been closed', 'Target closed', 'browserGone'],
  // The event of a page.
  '"type":"crash"',
] as const;

/** Searches raw bytes: most output is never needed as text. */
export function mentionsLostProcess(text: Buffer | string): boolean {
  return signs.some((sign) => text.includes(sign));
}
