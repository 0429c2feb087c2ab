/** Configuration files of other products: what they become, and that itself. */
import { useState } from 'preact/hooks';
import { call, send } from '../api.ts';
import type { DataAt } from '../contract.ts';
import { count } from '../format.ts';
import { useMe } from '../me.ts';
import { Action, Section, Table } from '../parts/layout.tsx';
import { useAttempt } from '../parts/notices.tsx';

type Plan = DataAt<'v1/imports', 'POST'>;

const classWords: Record<Plan['report'][number]['class'], string> = {
  EXACT: 'Same',
  CHANGED: 'Changed',
  APPROXIMATE: 'Approximate',
  DEACTIVATED: 'Inactive',
  NOT_CARRIED: 'Not imported',
  SECRET: 'Secret',
  HISTORY: 'History',
};

const inWords = (amounts: Record<string, number>) =>
  Object.entries(amounts)
    .map(([type, amount]) =>
      count(
        amount,
        type
          .replaceAll('-', ' ')
          .replace(/^check$/, 'monitor')
          .replace(/^check /, ''),
      ),
    )
    .join(', ');

function Report({ plan }: { plan: Plan }) {
  const { report, counts, resources, missing, source } = plan;
  return (
    <>
      <p>
        <strong>{source}</strong>: {inWords(resources) || 'nothing to create'}.{' '}
        {counts['EXACT'] ?? 0} of them are exactly the same.
      </p>
      {missing.length > 0 && (
        <p class="notice error">Nothing is imported without {missing.join('; ')}.</p>
      )}
      {report.length > 0 && (
        <Table label="Differences" columns={['Outcome', 'Object', 'What differs']}>
          {report.map(({ class: kind, name, place, text }, index) => (
            <tr key={index}>
              <td>{classWords[kind]}</td>
              <th scope="row">
                {name ?? 'All'} {place !== null && <span class="under">{place}</span>}
              </th>
              <td class="breakable">{text}</td>
            </tr>
          ))}
        </Table>
      )}
    </>
  );
}

/** `locations` are those where imported monitors run. */
export function ImportFiles({ locations }: { locations: string[] }) {
  const { mayWrite } = useMe();
  const [files, setFiles] = useState<{ path: string; text: string }[]>([]);
  const [plan, setPlan] = useState<Plan | null>(null);
  const [problem, attempt] = useAttempt();

  const ask = async (given: typeof files, dryRun: boolean) => {
    const body = { files: given, locations };
    setPlan((await call('v1/imports', { method: 'POST', query: { dryRun }, body })).data);
  };
  const take = (list: FileList | null | undefined) => {
    const taken = [...(list ?? [])];
    if (taken.length === 0) return;
    void attempt(async () => {
      const read = await Promise.all(
        taken.map(async (file) => ({ path: file.name, text: await file.text() })),
      );
      setFiles(read);
      setPlan(null);
      await ask(read, true);
    })();
  };
  const undo = attempt(async () => {
    await send(`v1/projects/${encodeURIComponent(plan?.project ?? '')}`, { method: 'DELETE' });
    setPlan(null);
    setFiles([]);
  });
  const changes = plan?.changes ?? [];
  return (
    <Section title="From another product">
      <label
        class="drop"
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault();
          take(event.dataTransfer?.files);
        }}
      >
        <span>Drop configuration files here, or choose them</span>
        <input
          type="file"
          multiple
          accept=".yml,.yaml,.json,.csv"
          disabled={!mayWrite}
          onChange={({ currentTarget }) => take(currentTarget.files)}
        />
        <span class="help">
          Uptime Kuma (backup as JSON), Gatus, Prometheus, blackbox_exporter, OpenStatus, CSV.
          Databases are imported by <code>control-plane import</code>. Nothing is created until you
          apply it.
        </span>
      </label>
      {problem}
      {plan !== null && <Report plan={plan} />}
      {plan?.isApplied === true && (
        <p class="notice" role="status">
          Imported: {count(changes.length, 'change')}. Importing again updates them.{' '}
          <Action word="Undo" busy="Undoing" run={undo} />
        </p>
      )}
      {plan?.isApplied === false && plan.missing.length === 0 && (
        <div class="form-end">
          <Action
            word={
              changes.length === 0
                ? 'Nothing to import'
                : `Apply ${count(changes.length, 'change')}`
            }
            busy="Importing"
            run={attempt(() => ask(files, false))}
            disabled={!mayWrite || changes.length === 0}
            kind="primary"
          />
        </div>
      )}
    </Section>
  );
}
