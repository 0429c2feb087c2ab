// Few share a process: it starts programs.
/** A signal opens no debugger, at which a script on the same machine would read keys and results. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { System, temporaryFolder } from '../support/system.ts';

test('SIGUSR1 opens no debugger of the control plane and of the agent', async () => {
  using folder = temporaryFolder();
  await using system = await System.start(folder.path);
  const agent = system.startAgent('agent', await system.makeLocation('here'));
  await agent.log('checked in');
  for (const program of [agent, system.controlPlane]) {
    program.signal('SIGUSR1');
    // The signal comes before the next one, whose effect can be seen.
    program.signal('SIGTERM');
    await program.exited;
    assert.doesNotMatch(program.lines.join('\n'), /Debugger|ws:\/\//);
  }
});
