/** The processes of a run, from the operating system. Linux only; empty on other systems. */
import { readdir, readFile } from 'node:fs/promises';

export interface RunProcess {
  readonly pid: number;
  readonly command: string;
  readonly cpuMs: number;
}

/** Clock ticks a second in /proc: 100 on every Linux that Node runs on. */
const tickMs = 10;

async function inspect(pid: string, marker: string): Promise<RunProcess | null> {
  try {
    const environment = await readFile(`/proc/${pid}/environ`, 'latin1');
    if (!`\0${environment}`.includes(`\0${marker}\0`)) return null;
    const [command, facts] = await Promise.all([
      readFile(`/proc/${pid}/cmdline`, 'utf8'),
      readFile(`/proc/${pid}/stat`, 'utf8'),
    ]);
    // The name in parentheses may hold anything; what follows it does not.
    const fields = facts.slice(facts.lastIndexOf(')') + 2).split(' ');
    const ticks = Number(fields[11]) + Number(fields[12]);
    return {
      pid: Number(pid),
      command: command.replaceAll('\0', ' ').trim().slice(0, 120),
      cpuMs: ticks * tickMs,
    };
  } catch {
    // The process has ended, or belongs to another user.
    return null;
  }
}

/** The processes that have `NAME=value` in their environment, the busiest first. */
export async function processesWith(marker: string): Promise<RunProcess[]> {
  const entries = await readdir('/proc').catch(() => []);
  const pids = entries.filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map((pid) => inspect(pid, marker)));
  return found.filter((one) => one !== null).sort((left, right) => right.cpuMs - left.cpuMs);
}
