/** Reads all of an account that its public API gives. */
import type { Fields } from '@monitor/shared/fields.ts';
import type { SourceAccount, SourceListName } from '../movers/index.ts';
import { type SourceApi, SourceApiError } from './source-api.ts';

/** What a plan may not include, or an older API does not know. */
export const isAbsent = (error: unknown): error is SourceApiError =>
  error instanceof SourceApiError && [402, 403, 404].includes(error.status ?? 0);

/** `progress` hears what is being read and how many entries it has so far. */
export async function readAccount(
  api: SourceApi,
  progress: (path: string, count: number) => void,
): Promise<SourceAccount> {
  const { sourceLists } = await import('../movers/index.ts');
  const account = await api.get('/v1/accounts/me');
  const unread: { path: string; why: string }[] = [];
  const lists = {} as Record<SourceListName, readonly Fields[]>;
  for (const [name, list] of Object.entries(sourceLists)) {
    const { path, paging } = list;
    try {
      lists[name as SourceListName] = await api.list(path, paging, (count) => {
        progress(path, count);
      });
    } catch (error) {
      if (!('isOptional' in list) || !isAbsent(error)) throw error;
      lists[name as SourceListName] = [];
      if (error.status !== 404) unread.push({ path, why: error.message });
    }
    progress(path, lists[name as SourceListName].length);
  }
  const subscribers = new Map<string, readonly Fields[]>();
  for (const { id } of lists['status-page']) {
    const path = `/v1/status-pages/${encodeURIComponent(String(id))}/subscriptions`;
    try {
      subscribers.set(String(id), await api.list(path, 'whole'));
    } catch (error) {
      if (!isAbsent(error)) throw error;
      unread.push({ path, why: error.message });
    }
  }
  return { host: api.host, account, lists, unread, subscribers };
}
