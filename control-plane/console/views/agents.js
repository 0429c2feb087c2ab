/** Agents and the locations they serve. */
/** @import { FleetAgent, LocationState } from '@monitor/shared/contract/fleet.ts' */
/** @import { Tone } from '../state.js' */
import { html } from '../dom.js';
import { count, duration, inNumbers, span, typeName } from '../format.js';
import { Icon, State } from '../parts/icons.js';
import { useMe } from '../me.js';
import { Facts } from '../parts/layout.js';
import { Answer, Empty } from '../parts/notices.js';
import { Ago, Time } from '../parts/time.js';
import { useQuery } from '../query.js';
import { link } from '../router.js';

const refreshMs = 10_000;
/** Larger clock offsets make results of the agent hard to compare. */
const clockToleranceMs = 2000;

/**
 * @param {FleetAgent} agent
 * @returns {{ tone: Tone, word: string }}
 */
function stateOf(agent) {
  if (!agent.isServing) return { tone: 'quiet', word: 'Gone' };
  return agent.load?.overloadedSince == null
    ? { tone: 'good', word: 'Serving' }
    : { tone: 'warn', word: 'Overloaded' };
}

/**
 * Shows why times of this location may include delays of the agent.
 * @param {{ load: NonNullable<FleetAgent['load']> }} props
 */
function Overload({ load }) {
  return html`<p class="warn">
    <${Icon} tone="warn" /> Overloaded since <${Time} at=${load.overloadedSince} />${
      load.reason === null ? '' : `: ${load.reason}`
    }. Times measured here include the agent's own waiting.
  </p>`;
}

/** @param {FleetAgent} agent */
function problemsOf({ outbox, clockOffsetMs, clockUncertaintyMs, isServing }) {
  const offsetMs = clockOffsetMs ?? 0;
  return [
    outbox.depth > 0 &&
      `${count(outbox.depth, 'result')} not handed in yet${
        outbox.oldestAt === null
          ? ''
          : `, the oldest ${span(Date.now() - Date.parse(outbox.oldestAt))} old`
      }`,
    outbox.droppedTotal > 0 &&
      `${count(outbox.droppedTotal, 'result')} kept only verdicts: its outbox was full`,
    isServing &&
      Math.abs(offsetMs) > clockToleranceMs + (clockUncertaintyMs ?? 0) &&
      `its clock is ${duration(Math.abs(offsetMs))} ${offsetMs > 0 ? 'behind' : 'ahead'}`,
  ].filter(Boolean);
}

/** @param {{ agent: FleetAgent }} props */
function Agent({ agent }) {
  const { capabilities, capacity } = agent;
  const abilities = [
    capabilities.icmp === 'none' ? 'no ICMP' : `ICMP by ${capabilities.icmp}`,
    capabilities.capture && 'packet capture',
    capabilities.traceroute && 'traceroute',
  ].filter(Boolean);
  return html`<li class="card">
    <div class="card-head">
      <${State} ...${stateOf(agent)} />
      <span class="mono">${agent.id}</span>
      <span class="tag">version ${agent.version}</span>
    </div>
    ${agent.isServing && agent.load?.overloadedSince != null && html`<${Overload} load=${agent.load} />`}
    ${problemsOf(agent).map(
      (text) => html`<p class="warn" key=${text}><${Icon} tone="warn" /> ${text}</p>`,
    )}
    <${Facts}
      entries=${[
        ['Last seen', html`<${Ago} at=${agent.lastSeenAt} />`],
        ['Left', agent.goneAt && html`<${Time} at=${agent.goneAt} />`],
        ['Started', html`<${Time} at=${agent.startedAt} />`],
        ['Running now', inNumbers(agent.running)],
        [
          'Last suspended',
          agent.load?.lastSuspension == null
            ? null
            : html`<${Ago} at=${agent.load.lastSuspension.endedAt} />, for${' '}
                ${span(agent.load.lastSuspension.lastedMs)}`,
        ],
        ['At most', `${capacity.light} monitors, ${capacity.heavy} scripts`],
        ['Outbox', inNumbers(agent.outbox.depth)],
        [
          'Clock offset',
          agent.clockOffsetMs === null ? null : duration(Math.abs(agent.clockOffsetMs)),
        ],
        ['Runs', capabilities.checkTypes.map(typeName).join(', ')],
        ['Runtimes', capabilities.runtimes.join(', ')],
        ['Browsers', capabilities.browsers.join(', ')],
        ['Network', abilities.join(', ')],
      ]}
    />
  </li>`;
}

/**
 * True when the checks of a location wait for an agent.
 * @param {LocationState} state
 */
function isMissing({ agentCount, checkCount }) {
  return agentCount === 0 && checkCount > 0;
}

/**
 * Advice for checks without conclusive results.
 * @param {{ outage: LocationState['faults'][number], location: string }} props
 */
function Outage({ outage, location }) {
  const { code, since, runs, checkCount, mostCommonCode, message } = outage;
  if (code === 'NO_RESULTS') {
    return html`<p class="notice error">
      <${Icon} tone="error" /> Monitoring is not happening: ${count(checkCount, 'check')} here had
      no result since <${Time} at=${since} />.${message !== null && ` As far as is known: ${message}.`}
    </p>`;
  }
  const error = code === null ? 'agent errors' : html`<span class="mono">${code}</span>`;
  const often = code === null && mostCommonCode;
  const whose = checkCount === 1 ? 'its target' : 'their targets';
  return html`<p class="notice error">
    <${Icon} tone="error" />${' '}
    ${code === null ? 'This location has given' : `${count(checkCount, 'check')} here had`} nothing
    but ${error} since <${Time} at=${since} />, in ${count(runs, 'run')}:${' '}
    ${`nothing is known about ${whose} from here. `}
    ${often && html`Most often <span class="mono">${often}</span>. `}
    ${message !== null && html`“${message}” `}Run${' '}
    <code>monitor-agent doctor</code> on the machine of the agent of ${location}.
  </p>`;
}

/** @type {Record<LocationState['state'], string>} */
const stateWords = {
  CONNECTED: '',
  NEVER_CONNECTED: 'No agent has ever connected.',
  REFUSED: 'An agent asks, and is refused.',
  LOST: 'The last agent was not heard of any more: it, its machine or its network went away.',
  STOPPED: 'The last agent was stopped, and said goodbye.',
};

/** @param {{ state: LocationState, agents: FleetAgent[] }} props */
function Location({ state, agents }) {
  const isMissed = isMissing(state);
  const since =
    state.unservedSince === null
      ? ', and none ever did'
      : html` since <${Time} at=${state.unservedSince} />`;
  return html`<section class="section" aria-labelledby=${`at-${state.location}`}>
    <div class="section-head">
      <h2 id=${`at-${state.location}`}>
        ${state.name}${' '}
        ${state.name !== state.location && html`<span class="muted mono">${state.location}</span>`}
      </h2>
      <span class="muted">
        ${count(state.checkCount, 'check')}, ${count(state.agentCount, 'agent')}
        ${
          state.waitingRuns > 0 &&
          `, ${count(state.waitingRuns, 'run')} waiting for ${span(state.oldestWaitingSeconds * 1000)}`
        }
      </span>
    </div>
    ${
      isMissed &&
      html`<p class="notice error">
        <${Icon} tone="error" /> No agent serves this location${since}.${' '}
        ${count(state.checkCount, 'check')} cannot run here. Start an agent with a key of this
        location, or look at why it stopped.
      </p>`
    }
    ${state.state !== 'CONNECTED' && html`<p class="muted">${stateWords[state.state]}</p>`}
    ${
      state.lastRefusal !== null &&
      html`<p class=${state.state === 'REFUSED' ? 'notice error' : 'muted'}>
        An agent with the key <span class="mono">${state.lastRefusal.maskedKey}</span> was last
        refused <${Time} at=${state.lastRefusal.at} />${
          state.lastRefusal.from === null ? '' : ` from ${state.lastRefusal.from}`
        }: ${state.lastRefusal.because}.
      </p>`
    }
    ${state.faults.map(
      (outage) =>
        html`<${Outage} key=${outage.code ?? ''} outage=${outage} location=${state.location} />`,
    )}
    ${
      agents.length > 0
        ? html`<ul>
            ${agents.map((agent) => html`<${Agent} key=${agent.id} agent=${agent} />`)}
          </ul>`
        : !isMissed && html`<p class="notice empty">No agent, and no check that needs one.</p>`
    }
  </section>`;
}

const shownForMs = 86_400_000;

/** Shows that the clock of the control plane was set, or is doubted. */
function Clock() {
  const { data } = useQuery('v1/interruptions', { everyMs: 60_000 });
  const step = data?.interruptions.find(({ stepMs }) => stepMs !== 0);
  const isNew = step !== undefined && Date.now() - Date.parse(step.to) < shownForMs;
  if (data === undefined || (data.clockProblem === null && !isNew)) return null;
  return html`<p class="notice error">
    <${Icon} tone="error" />${' '}
    ${
      isNew &&
      html`The clock of the control plane was set ${step.stepMs > 0 ? 'ahead' : 'back'} by${' '}
      ${span(Math.abs(step.stepMs))} at <${Time} at=${step.to} />. `
    }
    ${data.clockProblem !== null && `At the moment ${data.clockProblem}.`}
  </p>`;
}

export function AgentsView() {
  const locations = useQuery('v1/location-states', { everyMs: refreshMs });
  const agents = useQuery('v1/agents', { everyMs: refreshMs });
  const byLocation = Map.groupBy(agents.data ?? [], ({ location }) => location);
  const inOrder = (/** @type {LocationState[]} */ states) => {
    const isWrong = (/** @type {LocationState} */ state) =>
      Number(isMissing(state) || state.faults.length > 0);
    return states.toSorted((left, right) => isWrong(right) - isWrong(left));
  };
  const { mayAct } = useMe();
  const { data: places = [] } = useQuery('v1/private-locations', { everyMs: 60_000 });
  return html`<div class="title-line">
      <h1>Agents</h1>
      ${
        mayAct('ADMIN') &&
        html`<div class="actions">
          <a class="button primary" href=${link('new', 'location')}>New location</a>
        </div>`
      }
    </div>
    ${
      places.length > 0 &&
      html`<p class="muted">
        Keys and settings of${' '}
        ${places.map(
          ({ id, name }, index) =>
            html`${index > 0 && ', '}<a key=${id} href=${link('locations', id)}>${name}</a>`,
        )}
      </p>`
    }
    <${Clock} />
    ${Answer({
      read: agents,
      what: 'Loading agents',
      isEmpty: () => false,
      children: () =>
        Answer({
          read: locations,
          what: 'Loading locations',
          isEmpty: (states) => states.length === 0,
          empty: html`<${Empty} title="No locations yet">
            <a href=${link('new', 'location')}>Create a private location</a>, then start an agent for
            it.
          <//>`,
          children: (states) =>
            inOrder(states).map(
              (state) =>
                html`<${Location}
                  key=${state.location}
                  state=${state}
                  agents=${byLocation.get(state.location) ?? []}
                />`,
            ),
        }),
    })}`;
}
