/** Lists of what checks share: groups, variables, snippets, services, certificates, keys. */
import type { ComponentChildren } from 'preact';
import type { Values } from './values.ts';
import { useState } from 'preact/hooks';
import { forms } from '../form-facts.ts';
import { count, inWords } from '../format.ts';
import { useMe } from '../me.ts';
import { Code } from '../parts/code.tsx';
import { Table, Tags } from '../parts/layout.tsx';
import { Answer, Empty } from '../parts/notices.tsx';
import { Time } from '../parts/time.tsx';
import { useList } from '../query.ts';
import { link } from '../router.ts';
import { RemoveButton, RevokeButton } from './remove.tsx';
import { takeOnce } from './shown-once.ts';

interface Listing {
  plural: string;
  why: string;
  query: object;
  columns: [heading: string, cell: (entry: Values) => ComponentChildren][];
}

const list = (value: unknown) => (Array.isArray(value) ? value : []);
const time = (at: unknown) => (at == null ? 'never' : <Time at={String(at)} />);

const pageOf100 = { limit: 100 };

const listings: Record<string, Listing> = {
  group: {
    plural: 'Groups',
    query: pageOf100,
    why: 'Monitors of a group share settings, variables and a limit of runs at once.',
    columns: [
      ['Tags', ({ tags }) => <Tags tags={list(tags)} />],
      [
        'Locations',
        ({ privateLocations, locations }) =>
          [...list(privateLocations), ...list(locations)].join(', '),
      ],
      ['Active', ({ activated, muted }) => (activated ? (muted ? 'muted' : 'yes') : 'no')],
    ],
  },
  variable: {
    plural: 'Variables',
    query: pageOf100,
    why: 'Values for all monitors, as {{KEY}} in requests and process.env.KEY in scripts.',
    columns: [
      [
        'Value',
        ({ value, secret }) =>
          secret ? <i class="muted">secret</i> : <code>{String(value)}</code>,
      ],
    ],
  },
  snippet: {
    plural: 'Snippets',
    query: pageOf100,
    why: 'Scripts that several monitors share.',
    columns: [['Length', ({ script }) => count(String(script).split('\n').length, 'line')]],
  },
  service: {
    plural: 'Services',
    query: { paginated: false },
    why: 'Components that status pages show and incidents affect.',
    columns: [],
  },
  certificate: {
    plural: 'Client certificates',
    query: {},
    why: 'Sent to their host during the TLS handshake. Private keys are write-only.',
    columns: [['Since', ({ created_at }) => time(created_at)]],
  },
  key: {
    plural: 'API keys',
    query: {},
    why: 'Keys for scripts and integrations.',
    columns: [
      ['Role', ({ role }) => inWords(String(role))],
      ['Key', ({ maskedKey }) => <code>{String(maskedKey)}</code>],
      ['Created by', ({ madeBy }) => madeBy ?? '–'],
      ['Last used', ({ lastUsedAt }) => time(lastUsedAt)],
      ['Expires', ({ expiresAt }) => time(expiresAt)],
    ],
  },
};

export function ShownOnce({ secret }: { secret: string }) {
  return (
    <div class="notice warning" role="status">
      <p>Copy it now: it is not shown again.</p>
      <Code label="Key" text={secret} />
    </div>
  );
}

function Entries({ name, listing }: { name: string; listing: Listing }) {
  const form = forms[name];
  const { mayAct } = useMe();
  const [page, setPage] = useState(1);
  const query = listing.query === pageOf100 ? { ...pageOf100, page } : listing.query;
  const read = useList(form?.list ?? null, query);
  const [secret] = useState(() => takeOnce(name));
  if (form === undefined) return null;
  const { plural, why, columns } = listing;
  const EndButton = name === 'key' ? RevokeButton : RemoveButton;
  const canChange = form.update !== null;
  return (
    <>
      <div class="section-head">
        <p class="muted">{why}</p>
        {mayAct(form.role) && (
          <a class="button primary" href={link('new', name)}>
            New {form.noun}
          </a>
        )}
      </div>
      {secret !== null && <ShownOnce secret={secret} />}
      {Answer({
        read,
        what: `Loading ${plural.toLowerCase()}`,
        isEmpty: (entries) => entries.length === 0,
        empty: <Empty title={`No ${plural.toLowerCase()} yet`} />,
        children: (entries) => (
          <>
            <Table
              label={plural}
              columns={['Name', ...columns.map(([heading]) => heading), ['', 'right']]}
            >
              {entries.map((entry: Values) => {
                const id = String(entry[form.id]);
                const title = entry.name ?? entry.host ?? id;
                return (
                  <tr key={id}>
                    <th scope="row">
                      {canChange ? <a href={link('edit', name, id)}>{title}</a> : title}
                    </th>
                    {columns.map(([heading, cell]) => (
                      <td key={heading}>{cell(entry)}</td>
                    ))}
                    <td class="right">
                      <EndButton form={form} id={id} title={title} />
                    </td>
                  </tr>
                );
              })}
            </Table>
            {(read.total ?? 0) > 100 && (
              <div class="form-end">
                <button type="button" disabled={page === 1} onClick={() => setPage(page - 1)}>
                  Back
                </button>
                <button
                  type="button"
                  disabled={page * 100 >= (read.total ?? 0)}
                  onClick={() => setPage(page + 1)}
                >
                  Next
                </button>
              </div>
            )}
          </>
        ),
      })}
    </>
  );
}

/** The list of the entries of a form. */
export function EntriesView({ name }: { name: string }) {
  const listing = listings[name];
  if (listing === undefined) return <Empty title="There is no such page" />;
  return (
    <>
      <h1>{listing.plural}</h1>
      <Entries name={name} listing={listing} />
    </>
  );
}
