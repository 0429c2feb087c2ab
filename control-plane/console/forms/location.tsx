/** A private location: its keys, and how to start an agent for it. */
import type { DataAt } from '../contract.ts';
import { useState } from 'preact/hooks';
import { besideConsole, call } from '../api.ts';
import { forms } from '../form-facts.ts';
import { count } from '../format.ts';
import { useMe } from '../me.ts';
import { Code } from '../parts/code.tsx';
import { State } from '../parts/icons.tsx';
import { Action, Choice, Section, Table } from '../parts/layout.tsx';
import { Answer, Empty, useAttempt } from '../parts/notices.tsx';
import { Ask } from '../parts/ask.tsx';
import { Time } from '../parts/time.tsx';
import { useQuery } from '../query.ts';
import { link } from '../router.ts';
import { installationFacts } from '../session.ts';
import { isOfThisMachine, keyLine, ways } from './agent-lines.ts';
import { RemoveButton } from './remove.tsx';
import { ResultKeys } from './result-keys.tsx';
import { takeOnce } from './shown-once.ts';

type PrivateLocation = DataAt<`v1/private-locations/${string}`>;

function Start({ location, secret }: { location: PrivateLocation; secret: string | null }) {
  const [way, setWay] = useState('docker');
  const url = besideConsole('').replace(/\/$/, '');
  const { agentImage: image, agentChart: chart, version } = installationFacts();
  const facts = { url, slug: location.slugName, version, image, chart };
  const [, , lines] = ways.find(([name]) => name === way) ?? ways[0] ?? [];
  const isServed = (location.agentCount ?? 0) > 0;
  return (
    <Section title="Start an agent">
      <div class="card folded">
        <p role="status">
          {isServed ? (
            <State tone="good" word={`${count(location.agentCount ?? 0, 'agent')} connected`} />
          ) : (
            <>
              <span class="spinner" aria-hidden="true" /> Waiting for an agent. This turns green
              when it reports.
            </>
          )}
        </p>
        {secret === null ? (
          <p class="muted">
            An agent needs a key of this location. A key is shown once, when it is made: make one
            below.
          </p>
        ) : (
          <>
            <p class="notice warning">Copy the key now: it is not shown again.</p>
            <Code label="Key" text={secret} />
          </>
        )}
        <p>Run this command, paste the key and press Enter:</p>
        <Code label="The key, into a file" text={keyLine(facts)} />
        <p>In the same folder, start the agent:</p>
        <Choice
          label="Install with"
          value={way}
          options={ways.map(([name, word]) => [name, word])}
          onChange={setWay}
        />
        <Code label="Commands" text={lines?.(facts) ?? ''} />
        {isOfThisMachine(url) && (
          <p class="notice warning">{`${url} is only reachable from this machine. For agents on other machines and in clusters, set HOST and PUBLIC_URL of the control plane, and open the console there.`}</p>
        )}
        <p class="muted">
          The files in these lines are those of the release {version}. An image or a chart in a
          registry of yours is named by the settings AGENT_IMAGE and AGENT_CHART of the control
          plane; a cluster needs the image from a registry.
        </p>
      </div>
    </Section>
  );
}

export function LocationView({ id }: { id: string }) {
  const read = useQuery(`v1/private-locations/${id}`, { everyMs: 3000 });
  const { mayAct } = useMe();
  const [secret, setSecret] = useState(() => takeOnce('location'));
  const [revoked, setRevoked] = useState<PrivateLocation['keys'][number] | null>(null);
  const [problem, attempt] = useAttempt();
  const may = mayAct('ADMIN');
  const make = attempt(async () => {
    const { data } = await call(`v1/private-locations/${id}/keys`, { method: 'POST' });
    setSecret(data.rawKey);
  });
  const revoke = attempt(async () => {
    await call(`v1/private-locations/${id}/keys/${revoked?.id}`, { method: 'DELETE' });
    setRevoked(null);
  });
  return Answer({
    read,
    what: 'Loading the location',
    isEmpty: () => false,
    children: (location) => (
      <>
        <p class="crumbs">
          <a href={link('locations')}>Locations</a>
        </p>
        <div class="title-line">
          <h1>{location.name}</h1>
          <div class="actions">
            <a class="button" href={link('edit', 'location', id)}>
              Edit
            </a>
            {forms.location !== undefined && (
              <RemoveButton
                form={forms.location}
                id={id}
                title={location.name}
                onHeld={() => {
                  globalThis.location.hash = link('locations');
                }}
              />
            )}
          </div>
        </div>
        {problem}
        <Start location={location} secret={secret} />
        <Section title="Keys">
          {location.keys.length === 0 ? (
            <Empty title="No key yet">An agent needs a key to connect.</Empty>
          ) : (
            <Table label="Keys" columns={['Key', 'Created', ['', 'right']]}>
              {location.keys.map((key) => (
                <tr key={key.id}>
                  <th scope="row">
                    <code>{key.maskedKey}</code>
                  </th>
                  <td>
                    <Time at={key.created_at} />
                  </td>
                  <td class="right">
                    <button type="button" disabled={!may} onClick={() => setRevoked(key)}>
                      Revoke
                    </button>
                  </td>
                </tr>
              ))}
            </Table>
          )}
          <Action
            word="Create key"
            busy="Creating"
            kind={location.keys.length === 0 ? 'primary' : ''}
            run={make}
            disabled={!may}
          />
        </Section>
        <ResultKeys location={location} may={may} />
        {revoked !== null && (
          <Ask
            title={`Revoke ${revoked.maskedKey}?`}
            yes="Revoke"
            onYes={revoke}
            onNo={() => setRevoked(null)}
            problem={problem}
          >
            Agents that use it stop getting monitors at once.
          </Ask>
        )}
      </>
    ),
  });
}
