/** The agent that runs: what it says of itself against what a fresh process finds. */
import { maskedKey } from '../../key-problem.ts';
import { version } from '../../version.ts';
import { fail, ok, warn, type Finding } from '../finding.ts';
import { degradations } from '../judge-status.ts';
import type { StatusAnswer } from '../running-agent.ts';
import type { Check } from '../step.ts';
import { counted, longTime } from '../units.ts';
import { readAnswer } from './control-plane.ts';

export interface AgentFacts {
  path: string;
  running: StatusAnswer | null;
  /** What these settings say. */
  own: { version: string; key: string | null; controlPlane: string; healthPort: number };
  /** The location for which a check-in of this process was accepted; null where it was not. */
  acceptedFor: string | null;
}

/** Longer than its pause between two tries, while it is not reached. */
const triesWithinMs = 35_000;
/** An outage that has just ended is no difference. */
const settlesWithinMs = 120_000;

const seeLog = 'see its log and "monitor-agent status"';
const moreCpu =
  'give it more CPU, end what else uses the machine, lower UPTIME_CONCURRENCY or JOB_CONCURRENCY, or add an agent to the location; limits of time that are broken meanwhile end as AGENT_OVERLOADED';

/** What makes it another agent than that of these settings. */
function strangeness({ running, own, acceptedFor }: AgentFacts): string[] {
  if (running === null) return [];
  const { location, controlPlane, healthPort } = running.status;
  const rows: readonly (readonly [what: string, its: string | null, ours: string | null])[] = [
    ['location', location, acceptedFor],
    ['control plane', controlPlane, own.controlPlane],
    ['port', String(healthPort), own.healthPort === 0 ? null : String(own.healthPort)],
  ];
  return rows.flatMap(([what, its, ours]) =>
    its === null || ours === null || its === ours ? [] : [`${what} ${its}, not ${ours}`],
  );
}

function judgeLink({ running, own, acceptedFor }: AgentFacts): Finding[] {
  if (running === null) return [];
  const { link, now, key, pid } = running.status;
  const hasOtherKey = own.key !== null && key !== '' && key !== own.key;
  const still = `it still has the key ${key}, and these settings have ${own.key ?? ''}`;
  if (link.state !== 'down' && link.state !== 'refused') {
    return hasOtherKey && acceptedFor !== null
      ? warn(
          `the agent (process ${pid}) works, and ${still}`,
          `restart it before that key is deleted`,
        )
      : [];
  }
  const state = link.state === 'refused' ? 'is refused' : 'does not reach the control plane';
  const said = link.lastFailure?.message ?? 'for a reason it does not know';
  const what = `the agent (process ${pid}) ${state} for ${longTime(now - link.since)}: ${said}`;
  if (acceptedFor === null) return warn(what, 'the findings below say what a fresh process sees');
  const differs = `${what}; a check-in of a fresh process is accepted`;
  if (hasOtherKey) return fail(`${differs}: ${still}`, 'restart it');
  const triedMs = now - (link.lastFailure?.at ?? 0);
  const isSettled = now - link.since > settlesWithinMs && triedMs < triesWithinMs;
  return (isSettled ? fail : warn)(
    differs,
    `it tried ${longTime(triedMs)} ago and tries again within a minute; if that changes nothing, restart it`,
  );
}

export function judgeAgent(facts: AgentFacts): Finding[] {
  const { path, running, own } = facts;
  if (running === null)
    return ok(`none answers in ${path}: what follows is seen by a fresh process`);
  const { status, isHere } = running;
  if (!isHere) return ok(`one on ${status.hostname} answers in ${path}`);
  const strange = strangeness(facts);
  if (strange.length > 0) {
    return fail(
      `another agent (process ${status.pid}) uses ${path}: ${strange.join('; ')}`,
      'give each agent an AGENT_DATA_DIR and a port of its own; if it is this one, give doctor its settings',
    );
  }
  const isOld = status.version !== own.version;
  const { droppedTotal } = status.outbox;
  const findings = [
    ...judgeLink(facts),
    ...(isOld
      ? warn(`version ${status.version} runs, and ${own.version} is installed`, 'restart it')
      : []),
    // The link was judged above.
    ...degradations({ ...status, link: { ...status.link, state: 'up' } }).flatMap((text) =>
      warn(`the agent that runs: ${text}`, text.startsWith('overloaded') ? moreCpu : seeLog),
    ),
  ];
  if (findings.length > 0) return findings;
  const dropped = droppedTotal === 0 ? '' : `, ${counted(droppedTotal, 'result')} dropped so far`;
  return ok(
    `process ${status.pid} runs for ${longTime(status.now - status.startedAt)}, its link is ${status.link.state}${dropped}`,
  );
}

export const checkAgent: Check = async ({ config, runningAgent, link, isOffline }) => {
  const running = await runningAgent();
  const answer = running === null || isOffline ? null : readAnswer(await link.checkIn());
  const key = config.API_KEY?.reveal();
  return judgeAgent({
    path: config.AGENT_DATA_DIR,
    running,
    own: {
      version,
      key: key === undefined ? null : maskedKey(key),
      controlPlane: link.destination.baseUrl,
      healthPort: config.AGENT_HEALTH_PORT,
    },
    acceptedFor: answer?.kind === 'accepted' ? answer.location : null,
  });
};
