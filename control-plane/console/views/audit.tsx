/** The audit log: searched, filtered, with what changed before and after. */
import type { DataAt } from '../contract.ts';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { besideConsole, call } from '../api.ts';
import { operationInWords } from '../format.ts';
import { Problem } from '../problem.ts';
import { useMe } from '../me.ts';
import { Choice } from '../parts/layout.tsx';
import { List } from '../parts/list.tsx';
import { Empty, useAttempt } from '../parts/notices.tsx';
import { Search } from '../parts/search.tsx';
import { Time } from '../parts/time.tsx';
import { useQuery } from '../query.ts';
import { choosing, type Query } from '../router.ts';

type Entry = DataAt<'v1/audit-log'>['entries'][number];

function shown(value: unknown) {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 1);
}

function Changes({ entry: { before, after } }: { entry: Entry }) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  if (names.length === 0) return null;
  return (
    <details>
      <summary>{names.length === 1 ? names[0] : `${names.length} fields`}</summary>
      <dl class="changes">
        {names.map((name) => (
          <div key={name}>
            <dt>{name}</dt>
            {before !== null && name in before && (
              <dd>
                <del class="mono">{shown(before[name])}</del>
              </dd>
            )}
            {after !== null && name in after && (
              <dd>
                <ins class="mono">{shown(after[name])}</ins>
              </dd>
            )}
          </div>
        ))}
      </dl>
    </details>
  );
}

const kinds: Partial<Record<Entry['actor']['kind'], string>> = {
  API_KEY: 'API key',
  AGENT: 'location key',
  NOBODY: 'not signed in',
};

function AuditRow({ entry }: { entry: Entry }) {
  const { at, actor, address, operation, outcome, resource } = entry;
  return (
    <tr>
      <td class="wide-only">
        <Time at={at} />
      </td>
      <th scope="row" class="long">
        {actor.name}
        <span class="under long">
          <span class="narrow-only">
            <Time at={at} />{' '}
          </span>
          {kinds[actor.kind] ?? ''}
          {address !== null && ` ${address}`}
        </span>
      </th>
      <td>
        {operationInWords(operation)} {outcome === 'REFUSED' && <span class="tag">refused</span>}
        <span class="under long">
          {resource !== null &&
            [resource.type, resource.name ?? resource.id].filter(Boolean).join(' · ')}
        </span>
        <Changes entry={entry} />
      </td>
    </tr>
  );
}

const outcomes: [string, string][] = [
  ['', 'All'],
  ['DONE', 'Done'],
  ['REFUSED', 'Refused'],
];

export function AuditView({ query }: { query: Query }) {
  const { mayAct } = useMe();
  const { search = '', outcome = '' } = query;
  const isRefused = outcome === 'REFUSED';
  const filters = useMemo(
    () => ({
      ...(search !== '' && { search }),
      ...(outcome !== '' && {
        outcome: isRefused ? ('REFUSED' as const) : ('DONE' as const),
      }),
    }),
    [search, outcome],
  );
  const read = useQuery(mayAct('ADMIN') ? 'v1/audit-log' : null, {
    query: { ...filters, limit: 50 },
    everyMs: 30_000,
  });
  const [older, setOlder] = useState<{ entries: Entry[]; nextId: string | null } | null>(null);
  const [problem, attempt] = useAttempt();
  useEffect(() => setOlder(null), [filters]);

  if (!mayAct('ADMIN')) {
    return (
      <>
        <h1>Audit log</h1>
        <Empty title="Only admins read the audit log" />
      </>
    );
  }
  const nextId = older === null ? (read.data?.nextId ?? null) : older.nextId;
  const more = attempt(async () => {
    const { data } = await call('v1/audit-log', {
      query: { ...filters, limit: 50, ...(nextId !== null && { nextId }) },
    });
    setOlder({ entries: [...(older?.entries ?? []), ...data.entries], nextId: data.nextId });
  });
  const download = (format: 'csv' | 'ndjson') =>
    attempt(async () => {
      // A link alone would lack the header without which no session counts.
      const url = new URL(besideConsole('v1/audit-log/export'));
      for (const [name, value] of Object.entries({ ...filters, format })) {
        url.searchParams.set(name, value);
      }
      const answer = await fetch(url, { headers: { 'x-console': '1' } }).catch(() => null);
      if (answer === null || !answer.ok) {
        throw new Problem(500, 'the export failed; try again in a minute');
      }
      const link = document.createElement('a');
      link.href = URL.createObjectURL(await answer.blob());
      link.download = `audit-log.${format}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    });
  return (
    <>
      <h1>Audit log</h1>
      <p class="muted">Who changed what, from where. Values that are secret are never in it.</p>
      <div class="filters" role="search">
        <Search value={search} placeholder="a name, an address, an operation" />
        <Choice label="Outcome" options={outcomes} value={outcome} onChange={choosing('outcome')} />
        <button type="button" onClick={() => void download('csv')()}>
          Export CSV
        </button>
        <button type="button" onClick={() => void download('ndjson')()}>
          Export JSON
        </button>
      </div>
      {problem}
      {List({
        read,
        label: 'Audit log',
        columns: [['When', 'wide-only'], 'Who', 'What'],
        pick: ({ entries }) => [...entries, ...(older?.entries ?? [])],
        row: (entry) => <AuditRow key={entry.id} entry={entry} />,
        empty: <Empty title="Nothing matches" />,
        after: () =>
          nextId !== null && (
            <p class="form-end">
              <button type="button" onClick={() => void more()}>
                Older entries
              </button>
            </p>
          ),
      })}
    </>
  );
}
