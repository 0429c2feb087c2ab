/** Programs of this project in hosts of the lab, and talking to them. */
import { once } from 'node:events';
import type { LabAnswer, LabQuestion } from './lab-prober.ts';
import type { Zone } from './lab-services.ts';
import type { LabHost } from './network-lab.ts';

/** Starts the web server and the DNS servers of a host. */
export async function serveIn(host: LabHost, zones: Record<string, Zone>): Promise<void> {
  const child = host.spawn(
    process.execPath,
    ['test/support/lab-services.ts', JSON.stringify(zones)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  if (child.stdout === null) throw new Error('no output');
  await once(child.stdout, 'data');
}

/** Asks in a host what a check would see there. */
export type Prober = (question: Omit<LabQuestion, 'id'>) => Promise<LabAnswer>;

/** Starts a prober in a host, behind the words of a program such as setpriv. */
export async function proberIn(host: LabHost, before: readonly string[] = []): Promise<Prober> {
  const [first = '', ...rest] = [...before, process.execPath, 'test/support/lab-prober.ts'];
  const child = host.spawn(first, rest, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  await once(child, 'message');
  const waiting = new Map<number, (answer: LabAnswer) => void>();
  child.on('message', (message) => {
    const answer = message as LabAnswer;
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
  });
  let asked = 0;
  return (question) => {
    const id = (asked += 1);
    return new Promise((resolve) => {
      waiting.set(id, resolve);
      child.send({ id, ...question });
    });
  };
}
