/** Several replicas of the control plane on one PostgreSQL. */
import { join } from 'node:path';
import { startBalancer } from '../balancer.ts';
import { between, type ProofCase } from '../case.ts';
import { open } from '../lane.ts';
import { freePort, type Program } from '../program.ts';

const addition = 2;

/** Replicas share a database, so it has a world of its own. */
export const replicas: ProofCase = {
  name: 'replicas',
  plays: 'kill -9, SIGSTOP and SIGCONT of one of three replicas behind a balancer, on a PostgreSQL',
  missing: ({ databaseUrl }) =>
    databaseUrl === null ? 'there is no PostgreSQL; --postgres names an empty database' : null,
  prepareWorld: (folder, { databaseUrl }) => ({
    settings: {
      DATABASE_URL: databaseUrl ?? '',
      DATABASE_FILE: '',
      ARTIFACTS_DIR: join(folder, 'artifacts'),
      ARTIFACTS_SHARED: 'true',
      // No message of the proof has a link that somebody follows.
      PUBLIC_URL: 'http://127.0.0.1',
      ENCRYPTION_KEY: 'a-key-of-this-proof-alone-0123456789abcdef',
    },
  }),
  async join(world) {
    const { system } = world;
    const ports = [Number(new URL(system.baseUrl).port)];
    const others: Program[] = [];
    for (let index = 0; index < addition; index += 1) {
      const port = await freePort();
      ports.push(port);
      others.push(await system.startReplica(port));
    }
    const balancer = world.owns(await startBalancer());
    balancer.leadTo(ports);
    const lane = await world.makeLane('replicas', {
      agents: 2,
      settings: { CONTROL_PLANE_URL: balancer.url },
    });
    await world.addUsualSubjects(lane);
    return async ({ random, isShort, pause, note }) => {
      await pause(between(random, 1_500, isShort ? 5_000 : 20_000));
      const place = Math.floor(random() * (addition + 1));
      const program = place === 0 ? system.controlPlane : others[place - 1];
      const interruption = open(world.interruptions);
      if (random() < 0.6) {
        note('kill of a replica');
        await program?.kill9();
        await pause(between(random, 20, isShort ? 1_000 : 30_000));
        if (place === 0) await system.restartControlPlane();
        else others[place - 1] = await system.startReplica(ports[place] ?? 0);
      } else {
        note('suspension of a replica');
        program?.signal('SIGSTOP');
        await pause(between(random, 1_000, isShort ? 4_000 : 60_000));
        program?.signal('SIGCONT');
      }
      interruption.close();
    };
  },
};
