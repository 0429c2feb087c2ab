/** A private location: its keys, and how to start an agent for it. */
/** @import { DataAt } from '../contract.ts' */
import { html, useState } from '../dom.js';
import { besideConsole, call, toProblem } from '../api.js';
import { forms } from '../form-facts.js';
import { count } from '../format.js';
import { useMe } from '../me.js';
import { Code } from '../parts/code.js';
import { State } from '../parts/icons.js';
import { Action, Choice, Section, Table } from '../parts/layout.js';
import { Answer, Empty, wordsOf } from '../parts/notices.js';
import { Ask } from '../parts/ask.js';
import { Time } from '../parts/time.js';
import { useQuery } from '../query.js';
import { link } from '../router.js';
import { installationFacts } from '../session.js';
import { isOfThisMachine, keyLine, ways } from './agent-lines.js';
import { RemoveButton } from './remove.js';
import { ResultKeys } from './result-keys.js';
import { takeOnce } from './shown-once.js';

/** @typedef {DataAt<`v1/private-locations/${string}`>} PrivateLocation */

/** @param {{ location: PrivateLocation, secret: string | null }} props */
function Start({ location, secret }) {
  const [way, setWay] = useState('docker');
  const url = besideConsole('').replace(/\/$/, '');
  const { agentImage: image, agentChart: chart, version } = installationFacts();
  const facts = { url, slug: location.slugName, version, image, chart };
  const [, , lines] = ways.find(([name]) => name === way) ?? ways[0] ?? [];
  const isServed = (location.agentCount ?? 0) > 0;
  return html`<${Section} title="Start an agent">
    <div class="card folded">
      <p role="status">
        ${
          isServed
            ? html`<${State} tone="good" word=${`${count(location.agentCount ?? 0, 'agent')} connected`} />`
            : html`<span class="spinner" aria-hidden="true"></span> Waiting for an agent. This turns
                green when it reports.`
        }
      </p>
      ${
        secret === null
          ? html`<p class="muted">
              An agent needs a key of this location. A key is shown once, when it is made: make one
              below.
            </p>`
          : html`<p class="notice warning">Copy the key now: it is not shown again.</p>
              <${Code} label="Key" text=${secret} />`
      }
      <p>Run this line alone, then paste the key and press Enter:</p>
      <${Code} label="The key, into a file" text=${keyLine(facts)} />
      <p>In the same folder, start the agent:</p>
      <${Choice}
        label="Way"
        value=${way}
        options=${ways.map(([name, word]) => [name, word])}
        onChange=${setWay}
      />
      <${Code} label="Lines" text=${lines?.(facts) ?? ''} />
      ${
        isOfThisMachine(url) &&
        html`<p class="notice warning">
          ${`${url} is of this machine only. Agents on other machines and in clusters need an address that they reach: set HOST and PUBLIC_URL of the control plane, and open the console there.`}
        </p>`
      }
      <p class="muted">
        The files in these lines are those of the release ${version}. An image or a chart in a
        registry of yours is named by the settings AGENT_IMAGE and AGENT_CHART of the control plane;
        a cluster needs the image from a registry.
      </p>
    </div>
  <//>`;
}

/** @param {{ id: string }} props */
export function LocationView({ id }) {
  const read = useQuery(`v1/private-locations/${id}`, { everyMs: 3000 });
  const { mayAct } = useMe();
  const [secret, setSecret] = useState(() => takeOnce('location'));
  const [revoked, setRevoked] = useState(
    /** @type {PrivateLocation['keys'][number] | null} */ (null),
  );
  const [problem, setProblem] = useState('');
  const may = mayAct('ADMIN');
  const attempt = (/** @type {() => Promise<unknown>} */ work) => async () => {
    setProblem('');
    try {
      await work();
      await read.reload();
    } catch (error) {
      setProblem(wordsOf(toProblem(error)));
    }
  };
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
    children: (location) => html`<p class="crumbs"><a href=${link('agents')}>Agents</a></p>
      <div class="title-line">
        <h1>${location.name}</h1>
        <div class="actions">
          <a class="button" href=${link('edit', 'location', id)}>Change</a>
          <${RemoveButton}
            form=${forms.location}
            id=${id}
            title=${location.name}
            onHeld=${() => {
              globalThis.location.hash = link('agents');
            }}
          />
        </div>
      </div>
      ${problem !== '' && html`<p class="notice failure" role="alert">${problem}</p>`}
      <${Start} location=${location} secret=${secret} />
      <${Section} title="Keys">
        ${
          location.keys.length === 0
            ? html`<${Empty} title="No key yet">An agent needs one.<//>`
            : html`<${Table} label="Keys" columns=${['Key', 'Made', ['', 'right']]}>
                ${location.keys.map(
                  (key) =>
                    html`<tr key=${key.id}>
                      <th scope="row"><code>${key.maskedKey}</code></th>
                      <td><${Time} at=${key.created_at} /></td>
                      <td class="right">
                        <button type="button" disabled=${!may} onClick=${() => setRevoked(key)}>
                          Revoke
                        </button>
                      </td>
                    </tr>`,
                )}
              <//>`
        }
        <${Action}
          word="Make a key"
          busy="Making"
          kind=${location.keys.length === 0 ? 'primary' : ''}
          run=${make}
          disabled=${!may}
        />
      <//>
      <${ResultKeys} location=${location} may=${may} reload=${read.reload} />
      ${
        revoked !== null &&
        html`<${Ask}
          title=${`Revoke ${revoked.maskedKey}?`}
          yes="Revoke"
          onYes=${revoke}
          onNo=${() => setRevoked(null)}
          problem=${problem}
        >
          Agents that use it stop getting checks at once.
        <//>`
      }`,
  });
}
