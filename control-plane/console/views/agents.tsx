/** Agents and the locations they serve. */
import type { FleetAgent, LocationState } from '@monitor/shared/contract/fleet.ts';
import type { Tone } from '../state.ts';
import { count, duration, inNumbers, span, typeName } from '../format.ts';
import { Icon, Picture, State } from '../parts/icons.tsx';
import { useMe } from '../me.ts';
import { Facts } from '../parts/layout.tsx';
import { Answer, Empty } from '../parts/notices.tsx';
import { Ago, Time } from '../parts/time.tsx';
import { useQuery } from '../query.ts';
import { link } from '../router.ts';

const refreshMs = 10_000;
/** Larger clock offsets make results of the agent hard to compare. */
const clockToleranceMs = 2000;

function stateOf(agent: FleetAgent): { tone: Tone; word: string } {
  if (!agent.isServing) return { tone: 'quiet', word: 'Disconnected' };
  return agent.load?.overloadedSince == null
    ? { tone: 'good', word: 'Connected' }
    : { tone: 'warn', word: 'Overloaded' };
}

/** Shows why times of this location may include delays of the agent. */
function Overload({ load }: { load: NonNullable<FleetAgent['load']> }) {
  return (
    <p class="warn">
      <Icon tone="warn" /> Overloaded since <Time at={load.overloadedSince} />
      {load.reason === null ? '' : `: ${load.reason}`}. Times measured here include the agent's own
      delay.
    </p>
  );
}

function problemsOf({ outbox, clockOffsetMs, clockUncertaintyMs, isServing }: FleetAgent) {
  const offsetMs = clockOffsetMs ?? 0;
  return [
    outbox.depth > 0 &&
      `${count(outbox.depth, 'result')} queued${
        outbox.oldestAt === null
          ? ''
          : `, the oldest for ${span(Date.now() - Date.parse(outbox.oldestAt))}`
      }`,
    outbox.droppedTotal > 0 &&
      `${count(outbox.droppedTotal, 'result')} lost details: the queue was full`,
    isServing &&
      Math.abs(offsetMs) > clockToleranceMs + (clockUncertaintyMs ?? 0) &&
      `clock is ${duration(Math.abs(offsetMs))} ${offsetMs > 0 ? 'behind' : 'ahead'}`,
  ].filter(Boolean);
}

function Agent({ agent }: { agent: FleetAgent }) {
  const { capabilities, capacity } = agent;
  const abilities = [
    capabilities.icmp === 'none' ? 'no ICMP' : `ICMP by ${capabilities.icmp}`,
    capabilities.capture && 'packet capture',
    capabilities.traceroute && 'traceroute',
  ].filter(Boolean);
  return (
    <li class="card">
      <div class="card-head">
        <State {...stateOf(agent)} />
        <b class="breakable">{agent.hostName ?? agent.id}</b>
        <span class="tag">version {agent.version}</span>
      </div>
      {agent.isServing && agent.load?.overloadedSince != null && <Overload load={agent.load} />}
      {problemsOf(agent).map((text) => (
        <p class="warn" key={text}>
          <Icon tone="warn" /> {text}
        </p>
      ))}
      <Facts
        entries={[
          ['Id', agent.hostName !== null && <span class="mono">{agent.id}</span>],
          ['Last seen', <Ago at={agent.lastSeenAt} />],
          ['Disconnected', agent.goneAt && <Time at={agent.goneAt} />],
          ['Started', <Time at={agent.startedAt} />],
          ['Active runs', inNumbers(agent.running)],
          [
            'Last suspended',
            agent.load?.lastSuspension == null ? null : (
              <>
                <Ago at={agent.load.lastSuspension.endedAt} />, for{' '}
                {span(agent.load.lastSuspension.lastedMs)}
              </>
            ),
          ],
          [
            'Capacity',
            `${count(capacity.light, 'light run')}, ${count(capacity.heavy, 'browser or script', 'browsers or scripts')}`,
          ],
          ['Queued results', inNumbers(agent.outbox.depth)],
          [
            'Clock offset',
            agent.clockOffsetMs === null ? null : duration(Math.abs(agent.clockOffsetMs)),
          ],
          ['Monitor types', capabilities.checkTypes.map(typeName).join(', ')],
          ['Runtimes', capabilities.runtimes.join(', ')],
          ['Browsers', capabilities.browsers.join(', ')],
          ['Network', abilities.join(', ')],
        ]}
      />
    </li>
  );
}

/** True when the checks of a location wait for an agent. */
function isMissing({ agentCount, checkCount }: LocationState) {
  return agentCount === 0 && checkCount > 0;
}

/** Advice for checks without conclusive results. */
function Outage({
  outage,
  location,
}: {
  outage: LocationState['faults'][number];
  location: string;
}) {
  const { code, since, runs, checkCount, mostCommonCode, message } = outage;
  if (code === 'NO_RESULTS') {
    return (
      <p class="notice error">
        <Icon tone="error" /> No results from {count(checkCount, 'monitor')} here since{' '}
        <Time at={since} />.{message !== null && ` Likely cause: ${message}.`}
      </p>
    );
  }
  const error = code === null ? 'agent errors' : <span class="mono">{code}</span>;
  const often = code === null && mostCommonCode;
  const whose = checkCount === 1 ? 'its target' : 'their targets';
  return (
    <p class="notice error">
      <Icon tone="error" />{' '}
      {code === null ? 'This location had' : `${count(checkCount, 'monitor')} here had`} only
      {error} since <Time at={since} />, in {count(runs, 'run')}:{' '}
      {`the state of ${whose} is unknown from here. `}
      {often && (
        <>
          Most often <span class="mono">{often}</span>.{' '}
        </>
      )}
      {message !== null && <>“{message}” </>}Run <code>monitor-agent doctor</code> on the machine of
      the agent of {location}.
    </p>
  );
}

const stateWords: Record<LocationState['state'], string> = {
  CONNECTED: '',
  NEVER_CONNECTED: 'No agent has connected yet.',
  REFUSED: 'An agent tries to connect and is refused.',
  LOST: 'The last agent disconnected without a goodbye: check its machine and network.',
  STOPPED: 'The last agent was stopped.',
};

function Location({ state, agents }: { state: LocationState; agents: FleetAgent[] }) {
  const isMissed = isMissing(state);
  return (
    <section class="section" aria-labelledby={`at-${state.location}`}>
      <div class="section-head">
        <h2 id={`at-${state.location}`}>
          {state.name}{' '}
          {state.name !== state.location && <span class="muted mono">{state.location}</span>}
        </h2>
        <span class="muted">
          {count(state.checkCount, 'monitor')}, {count(state.agentCount, 'agent')}
          {state.waitingRuns > 0 &&
            `, ${count(state.waitingRuns, 'run')} waiting${state.oldestWaitingSeconds < 1 ? '' : ` for ${span(state.oldestWaitingSeconds * 1000)}`}`}
        </span>
      </div>
      {isMissed && (
        <p class="notice error">
          <Icon tone="error" />{' '}
          {state.unservedSince === null ? (
            'No agent has connected to this location yet.'
          ) : (
            <>
              No agent serves this location since <Time at={state.unservedSince} />.
            </>
          )}{' '}
          {count(state.checkCount, 'monitor')} cannot run here. Start an agent with a key of this
          location.
        </p>
      )}
      {!(isMissed && state.unservedSince === null) && (
        <p class="muted">{stateWords[state.state]}</p>
      )}
      {state.lastRefusal !== null && (
        <p class={state.state === 'REFUSED' ? 'notice error' : 'muted'}>
          An agent with the key <span class="mono">{state.lastRefusal.maskedKey}</span> was last
          refused <Time at={state.lastRefusal.at} />
          {state.lastRefusal.from === null ? '' : ` from ${state.lastRefusal.from}`}:{' '}
          {state.lastRefusal.because}.
        </p>
      )}
      {state.faults.map((outage) => (
        <Outage key={outage.code ?? ''} outage={outage} location={state.location} />
      ))}
      {agents.length > 0 && (
        <ul>
          {agents.map((agent) => (
            <Agent key={agent.id} agent={agent} />
          ))}
        </ul>
      )}
    </section>
  );
}

const shownForMs = 86_400_000;

/** Shows that the clock of the control plane was set, or is doubted. */
function Clock() {
  const { data } = useQuery('v1/interruptions', { everyMs: 60_000 });
  const step = data?.interruptions.find(({ stepMs }) => stepMs !== 0);
  const isNew = step !== undefined && Date.now() - Date.parse(step.to) < shownForMs;
  if (data === undefined || (data.clockProblem === null && !isNew)) return null;
  return (
    <p class="notice error">
      <Icon tone="error" />{' '}
      {isNew && (
        <>
          The clock of the control plane was set {step.stepMs > 0 ? 'ahead' : 'back'} by{' '}
          {span(Math.abs(step.stepMs))} at <Time at={step.to} />.{' '}
        </>
      )}
      {data.clockProblem !== null && `At the moment ${data.clockProblem}.`}
    </p>
  );
}

export function AgentsView() {
  const locations = useQuery('v1/location-states', { everyMs: refreshMs });
  const agents = useQuery('v1/agents', { everyMs: refreshMs });
  const byLocation = Map.groupBy(agents.data ?? [], ({ location }) => location);
  const inOrder = (states: LocationState[]) => {
    const isWrong = (state: LocationState) => Number(isMissing(state) || state.faults.length > 0);
    return states.toSorted((left, right) => isWrong(right) - isWrong(left));
  };
  const { mayAct } = useMe();
  const { data: places = [] } = useQuery('v1/private-locations', { everyMs: 60_000 });
  return (
    <>
      <div class="title-line">
        <h1>Locations</h1>
        {mayAct('ADMIN') && (
          <div class="actions">
            <a class="button primary" href={link('new', 'location')}>
              <Picture name="plus" /> New location
            </a>
          </div>
        )}
      </div>
      {places.length > 0 && (
        <p class="muted">
          Keys and settings:{' '}
          {places.map(({ id, name }, index) => (
            <>
              {index > 0 && ', '}
              <a key={id} href={link('locations', id)}>
                {name}
              </a>
            </>
          ))}
        </p>
      )}
      <Clock />
      {Answer({
        read: agents,
        what: 'Loading agents',
        isEmpty: () => false,
        children: () =>
          Answer({
            read: locations,
            what: 'Loading locations',
            isEmpty: (states) => states.length === 0,
            empty: (
              <Empty title="No locations yet">
                <a href={link('new', 'location')}>Create a private location</a>, then start an agent
                for it.
              </Empty>
            ),
            children: (states) =>
              inOrder(states).map((state) => (
                <Location
                  key={state.location}
                  state={state}
                  agents={byLocation.get(state.location) ?? []}
                />
              )),
          }),
      })}
    </>
  );
}
