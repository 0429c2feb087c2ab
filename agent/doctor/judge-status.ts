/** What an operator should know of a status: nothing, or why the agent is not as it should be. */
import type { AgentStatus } from '../status/agent-status.ts';
import { recipientRemarks } from '../encryption/recipients.ts';
import { bytesText, counted, longTime } from './units.ts';

const lateResultsMs = 5 * 60_000;
const tolerableOffsetMs = 2_000;
const nearlyFull = 0.8;
/** How long damage is shown; the log and the metrics keep it longer. */
const damageShownMs = 86_400_000;
/** The first check-in is on its way. */
const freshMs = 30_000;

/** Reasons to call the agent degraded, the gravest first. Empty for a healthy one. */
export function degradations(status: AgentStatus): string[] {
  const { link, outbox, artifacts, pools, load, now, startedAt, notReady } = status;
  const reasons: string[] = [];
  if (notReady !== null) reasons.push(notReady);
  if (link.state === 'down' || link.state === 'refused') {
    const said = link.lastFailure === null ? '' : `: ${link.lastFailure.message}`;
    const state = link.state === 'refused' ? 'refuses this agent' : 'is not reached';
    reasons.push(`the control plane ${state} for ${longTime(now - link.since)}${said}`);
  } else if (link.state === 'unknown' && now - startedAt > freshMs) {
    reasons.push('the control plane has not answered yet');
  }
  if (status.dataProblem !== null) {
    reasons.push(
      `results cannot be kept: AGENT_DATA_DIR cannot be written (${status.dataProblem})`,
    );
  }
  if (outbox.oldestAt !== null && now - outbox.oldestAt > lateResultsMs) {
    reasons.push(
      `${counted(outbox.depth, 'result')} wait, the oldest for ${longTime(now - outbox.oldestAt)}`,
    );
  }
  if (outbox.setAsideAt !== null && now - outbox.setAsideAt <= damageShownMs) {
    reasons.push(
      `the control plane refused results, ${outbox.setAsideTotal} in all: they are set aside, see the log`,
    );
  }
  for (const [what, { bytes, maxBytes }] of [
    ['results', outbox],
    ['files of results', artifacts],
  ] as const) {
    if (bytes > maxBytes * nearlyFull) {
      reasons.push(
        `the room for ${what} is nearly used up: ${bytesText(bytes)} of ${bytesText(maxBytes)}`,
      );
    }
  }
  if (link.cutPolls.count > 1) {
    reasons.push(
      `${link.cutPolls.count} polls in a row were cut after ${longTime(link.cutPolls.afterMs)} while they waited: what stands before the control plane must hold a request for 30 s`,
    );
  }
  const tolerableMs = tolerableOffsetMs + (link.clockUncertaintyMs ?? 0);
  if (link.clockOffsetMs !== null && Math.abs(link.clockOffsetMs) > tolerableMs) {
    const side = link.clockOffsetMs > 0 ? 'behind' : 'ahead of';
    reasons.push(
      `the clock of this machine is ${Math.round(Math.abs(link.clockOffsetMs))} ms ${side} the control plane`,
    );
  }
  if (load.overloadedSince !== null) {
    reasons.push(
      `overloaded for ${longTime(now - load.overloadedSince)}: ${load.reason ?? 'too little CPU'}`,
    );
  }
  if (status.logProblem !== null) reasons.push(status.logProblem);
  for (const { at, file, found, lost, salvaged, aside } of status.damages) {
    if (now - at > damageShownMs) continue;
    const kept = aside === null ? '' : `; the damaged one is kept as ${aside}`;
    reasons.push(
      `${file} was damaged (${found}): ${counted(salvaged, 'record')} kept, ${lost} lost${kept}`,
    );
  }
  reasons.push(...recipientRemarks(status.encryption, now));
  for (const [name, { queued, places }] of Object.entries(pools)) {
    if (queued > places) reasons.push(`${queued} ${name} runs wait for one of ${places} permits`);
  }
  return reasons;
}
