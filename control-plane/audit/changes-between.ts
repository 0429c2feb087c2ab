import type { Window } from '../core/decide/results-window.ts';
import { fromJson } from '../db/columns.ts';
import { jsonListContains, jsonValue } from '../db/expressions.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Db } from '../db/tables.ts';

export interface Changed {
  id: string;
  at: number;
  /** Of what was changed. */
  name: string;
  fields: string[];
}

type Resource = Record<'type' | 'id', string>;

const doneTo = (db: Db, accountId: string, { type, id }: Resource, window: Window) =>
  ownRows(db, 'audit_log', accountId)
    .where('resource_type', '=', type)
    .where('resource_id', '=', id)
    .where('outcome', '=', 'DONE')
    .where('at', '>=', window.from)
    .where('at', '<', window.to)
    .where('after_json', 'is not', null);

/** The newest changes of each entry within a window; that they were made or deleted is none. */
export async function changesBetween(
  db: Db,
  accountId: string,
  resources: readonly Resource[],
  { limit, ...window }: Window & { limit: number },
): Promise<Changed[]> {
  const changed: Changed[] = [];
  for (const resource of resources) {
    const rows = await doneTo(db, accountId, resource, window)
      .where('before_json', 'is not', null)
      .orderBy('at', 'desc')
      .orderBy('seq', 'desc')
      .limit(limit)
      .execute();
    for (const { id, at, resource_name: name, after_json: after } of rows) {
      const fields = Object.keys(fromJson<object>(after ?? '{}'));
      changed.push({ id, at, name: name ?? '', fields });
    }
  }
  return changed;
}

/** The newest deployments of a project that made or changed one of its resources. */
export async function deploymentsBetween(
  db: Db,
  accountId: string,
  { project, resource }: Record<'project' | 'resource', string>,
  { limit, ...window }: Window & { limit: number },
): Promise<Changed[]> {
  const rows = await doneTo(db, accountId, { type: 'projects', id: project }, window)
    .where('operation', '=', 'deployProject')
    .where(({ or, eb }) =>
      or(
        ['$.created', '$.updated'].flatMap((path) => [
          jsonListContains('after_json', path, resource),
          // A long list was cut when it was written: the resource may be in it.
          eb(jsonValue<string>('after_json', path), 'like', '{%'),
        ]),
      ),
    )
    .orderBy('at', 'desc')
    .orderBy('seq', 'desc')
    .limit(limit)
    .execute();
  return rows.map(({ id, at, resource_name: name }) => ({
    ...{ id, at, name: name ?? project, fields: [] },
  }));
}
