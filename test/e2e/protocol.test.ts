import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import test from 'node:test';
import type { StepFinding } from '../../agent/doctor/finding.ts';
import type { AgentStatus } from '../../agent/status/agent-status.ts';
import { assertNothingDoubled } from '../support/accounting.ts';
import { controlPlaneOfAnotherVersion } from '../support/another-version.ts';
import { Program, surroundings } from '../../proof/program.ts';
import { eventually, openTarget, System, temporaryFolder } from '../support/system.ts';
import { agentProgram } from '../support/programs.ts';

async function command(environment: Record<string, string>, ...args: string[]): Promise<string> {
  const child = spawn(process.execPath, [agentProgram, ...args], {
    env: { ...surroundings(), ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const parts = child.stdout.toArray();
  await once(child, 'close');
  return Buffer.concat((await parts) as Buffer[]).toString();
}

test('an agent waits with its results for a control plane that speaks its protocol', async () => {
  using folder = temporaryFolder();
  await using target = await openTarget();
  await using system = await System.start(folder.path);
  const key = await system.makeLocation('here');
  const settings = {
    API_KEY: key,
    CONTROL_PLANE_URL: system.baseUrl,
    AGENT_DATA_DIR: join(folder.path, 'agent'),
  };
  const agent = system.startAgent('agent', key);
  const port = Number((await agent.log('agent has started'))['healthPort']);
  await agent.log('checked in');
  await system.createUrlCheck(`${target.url}/ok/1`, { name: 'a', privateLocations: ['here'] });
  const results = () => system.query('select id from check_results').length;
  await eventually(
    () => results() > 0,
    () => 'no result came',
  );

  const startInstead = async (name: string, protocols: { oldest: number; newest: number }) => {
    const program = new Program(
      [controlPlaneOfAnotherVersion(join(folder.path, name), protocols), 'serve'],
      {
        PORT: new URL(system.baseUrl).port,
        DATABASE_FILE: system.databaseFile,
        REQUESTS_PER_MINUTE: '0',
      },
    );
    await program.log('serving');
    return program;
  };
  const doctor = async (): Promise<Record<string, StepFinding | undefined>> => {
    const text = await command(settings, 'doctor', '--json', '--only', 'key,protocol');
    const { findings } = JSON.parse(text) as { findings: StepFinding[] };
    return Object.fromEntries(findings.map((finding) => [finding.id, finding]));
  };

  await system.controlPlane.kill9();
  const before = results();
  {
    await using _newer = await startInstead('newer', { oldest: 3, newest: 4 });
    const link = async (): Promise<{ controlPlane: string; reason?: string }> =>
      (await (await fetch(`http://127.0.0.1:${port}/health`)).json()) as never;
    await eventually(
      async () => (await link()).controlPlane === 'refused',
      () => 'it was not refused',
    );
    const words =
      /speaks protocols 3 to 4 of agents and the agent protocol 2: the agent is the older one/;
    assert.match((await link()).reason ?? '', words);
    assert.match(
      await command(settings, 'status'),
      new RegExp(`refuses this agent.*${words.source}`),
    );
    const { key: keyFinding, protocol } = await doctor();
    assert.equal(keyFinding?.verdict, 'ok');
    assert.equal(protocol?.verdict, 'fail');
    assert.match(protocol?.evidence ?? '', words);
    assert.match(protocol?.fix ?? '', /^upgrade this agent/);
    const waiting = async (): Promise<number> =>
      (JSON.parse(await command(settings, 'status', '--json')) as AgentStatus).outbox.depth;
    await eventually(
      async () => (await waiting()) > 0,
      () => 'nothing was measured meanwhile',
    );
  }
  {
    await using _older = await startInstead('older', { oldest: 0, newest: 0 });
    const { protocol } = await doctor();
    assert.match(protocol?.evidence ?? '', /the control plane is the older one, upgrade it/);
    assert.match(protocol?.fix ?? '', /^upgrade the control plane/);
  }
  assert.equal(results(), before);
  // What it has is on disk; one that runs on asks again within a minute.
  await agent.kill9();
  await system.restartControlPlane();
  await system.startAgent('agent', key).log('checked in');
  await eventually(
    () => results() > before,
    () => 'what was measured did not come',
  );
  assertNothingDoubled(system.databaseFile);
});
