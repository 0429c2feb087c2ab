/**
 * What a part of the agent makes of where it is, as a program to be started there: prints JSON.
 *
 *   tried.ts run SCRIPT   how a run of code is kept apart, and how it ended
 *   tried.ts ping         an ICMP check of this machine
 *   tried.ts limits       what doctor says about control groups and about folders
 */
import { kernelReader, memoryKills } from '../../agent/control-group.ts';
import { cpuLimit, memoryLimit, processLimit } from '../../agent/doctor/cgroup.ts';
import { openMachine } from '../../agent/doctor/machine.ts';
import { coresOf, judgeCpu } from '../../agent/doctor/steps/limits.ts';
import { mountBelow } from '../../agent/doctor/mounts.ts';
import { openIcmp } from '../../agent/net/icmp/open-icmp.ts';
import { runIcmp } from '../../agent/runners/icmp.ts';
import { createScriptHost } from '../../agent/script-host/create-script-host.ts';
import { definitionOf, runnerContext } from '../support/runner-context.ts';

async function run(script: string): Promise<unknown> {
  const limits = { memoryBytes: 2e9, diskBytes: 1e8, files: 1_000, processes: 50 };
  await using host = await createScriptHost({
    workFolder: '/tmp/tried-runs',
    limits: { ...limits, outputBytes: 100_000 },
  });
  await using workspace = await host.open();
  const { reason, exitCode, signal } = await workspace.start({
    command: process.execPath,
    args: ['-e', script],
    environment: {},
    timeoutMs: 120_000,
    signal: new AbortController().signal,
  }).done;
  return { isolation: workspace.isolation, reason, exitCode, signal };
}

async function ping(): Promise<unknown> {
  const opened = openIcmp(process.env);
  if (opened.icmp === null) return { problem: opened.problem };
  const { icmp } = opened;
  const { failure } = await runIcmp(
    definitionOf('ICMP', { hostname: '127.0.0.1', pingCount: 1 }),
    runnerContext(60_000, { icmp }),
  );
  return { failure };
}

function limits(): unknown {
  const machine = openMachine();
  const cpu = cpuLimit(machine);
  return {
    memory: memoryLimit(machine),
    cpu,
    processes: processLimit(machine)?.limit ?? null,
    kills: memoryKills(kernelReader),
    saidOfCpu: judgeCpu(cpu, coresOf(machine), 1)[0]?.evidence,
    isStateReadOnly: mountBelow(machine, '/var/lib/monitor-agent')?.options.includes('ro') ?? false,
  };
}

const [what = '', script = ''] = process.argv.slice(2);
const parts: Record<string, () => unknown> = { run: () => run(script), ping, limits };
console.log(JSON.stringify(await parts[what]?.()));
process.exit();
