import type { Progress } from '../runtimes/verify-runtime.ts';

const verbs = { packages: 'fetching packages', verification: 'testing packages' };

/** Shows progress: one line that changes on a terminal, a line for each step elsewhere. */
export function progressOn(
  stream: NodeJS.WriteStream,
  id: string,
): { show: (progress: Progress) => void; end: () => void } {
  let shownPhase: string | null = null;
  return {
    show({ phase, done, total }) {
      const count = total === 0 ? String(done) : `${done} of ${total}`;
      if (stream.isTTY) stream.write(`\r\u001b[K${id}: ${verbs[phase]}: ${count}`);
      else if (phase !== shownPhase) stream.write(`${id}: ${verbs[phase]}\n`);
      shownPhase = phase;
    },
    end() {
      if (stream.isTTY && shownPhase !== null) stream.write('\r\u001b[K');
    },
  };
}
