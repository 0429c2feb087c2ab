/** Checks are spread over this many shards; work on one shard is done by one at a time. */
export const shards = 16;

/** The shard of a check, from 0: FNV-1a of its id. Rows are stored with it, so it stays as it is. */
export function shardOf(checkId: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < checkId.length; index += 1) {
    hash = Math.imul(hash ^ checkId.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash % shards;
}
