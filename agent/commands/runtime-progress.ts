import type { Progress } from '../runtimes/verify-runtime.ts';

const verbs = { packages: 'fetching packages', verification: 'testing packages' };

/** Shows progress: one changing line on a terminal, otherwise a line per step. */
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
