import { hash32 } from '@monitor/shared/domain/hash.ts';

/** Checks are spread over this many shards; work on one shard is done by one at a time. */
export const shards = 16;

/** The shard of a check, from 0. Rows are stored with it, so it stays as it is. */
export function shardOf(checkId: string): number {
  return hash32(checkId) % shards;
}
