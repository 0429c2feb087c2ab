/** One shard of a suite: what Playwright calls it, and what is its own among those of the others. */
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import type { Shard } from '@monitor/shared/contract/agent-protocol.ts';
import type { ArtifactSink, RunnerContext } from '../runner.ts';
import type { SuiteEvents } from './suite-events.ts';
import type { SuiteLog } from './suite-log.ts';

/** As `--shard` takes it. */
export const nameOfShard = ({ index, total }: Shard): string => `${index}/${total}`;

export function shardOf({ part }: RunnerContext): Shard | null {
  return part !== undefined && 'shard' in part ? part.shard : null;
}

/** Gives files the number of their shard, since those of all shards belong to one result. */
export function withShardNames(sink: ArtifactSink, { index }: Shard): ArtifactSink {
  return {
    add(file) {
      const [, folder = '', name = file.name] = /^(.*\/)?([^/]*)$/.exec(file.name) ?? [];
      return sink.add({ ...file, name: `${folder}shard-${index}-${name}` });
    },
  };
}

/** Of a shard, by what it would be of a whole suite: one without tests has not failed, others have them. */
export function failureOfShard(
  failure: Failure | null,
  shard: Shard | null,
  { events, exitCode }: { events: SuiteEvents; exitCode: number | null },
  log: SuiteLog,
): Failure | null {
  if (shard === null) return failure;
  if (events.shards.some((name) => name !== nameOfShard(shard))) {
    log.add('the test command did not run this shard alone: all shards run the same tests', 'WARN');
  }
  if (failure?.code !== 'NO_TESTS' || exitCode !== 0 || events.begun === 0) return failure;
  log.add('there are no tests in this shard: Playwright divides them by their files');
  return null;
}
