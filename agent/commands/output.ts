/** How commands print: colours and tables for people, JSON for programs. */
import { createColors } from 'picocolors';

export { table } from '@monitor/shared/text-table.ts';

/** Colours where a person looks at a terminal that wants them. */
export function colorsFor(stream: NodeJS.WriteStream, noColor: string | undefined) {
  return createColors(stream.isTTY && (noColor === undefined || noColor === ''));
}

export type Colors = ReturnType<typeof colorsFor>;
