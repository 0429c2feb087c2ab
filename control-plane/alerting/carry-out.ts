/** What follows from a step of the machine: the alert, its incident, the record of the decision. */
import type { Kysely } from 'kysely';
import type { Database } from '../db/tables.ts';
import { addresseesOf, type Addressee } from './decide/channels.ts';
import { explain, explainReason } from './decide/explain.ts';
import type { AlertState } from './decide/state.ts';
import type { Effect } from './decide/outline.ts';
import type { Step } from './decide/step.ts';
import type { Services } from '../core/services.ts';
import { openIncidentOf, resolveIncidentOf } from '../incidents/index.ts';
import type { AlertedCheck } from './alerted-checks.ts';
import { insertDecision } from './decision-rows.ts';
import { raiseAlert } from './raise-alert.ts';
import type { RunVerdict } from '../results/index.ts';
import { subscribedChannels } from './subscribed-channels.ts';

interface Told {
  alertId: string;
  addressees: Addressee[];
  ids: number[];
}

async function tell(
  services: Services,
  db: Kysely<Database>,
  check: AlertedCheck,
  effect: Extract<Effect, { kind: 'alert' }>,
  result: RunVerdict | null,
): Promise<Told> {
  const { alertType, key, since, reminder, told } = effect;
  const channels = await subscribedChannels(db, check.row);
  const addressees = addresseesOf(channels, alertType, told);
  const alertId = await raiseAlert(services, db, check, {
    alertType,
    key,
    result,
    since,
    reminder,
    ssl: null,
    channels,
    addressees,
  });
  const ids = addressees.flatMap(({ id, reason }) => (reason === 'WANTED' ? [id] : []));
  return { alertId, addressees, ids };
}

function withTold(state: AlertState, ids: readonly number[]): AlertState {
  const { alert } = state;
  if (alert === null) return state;
  return { ...state, alert: { ...alert, told: [...new Set([...alert.told, ...ids])] } };
}

/**
 * Writes what a step has decided about a result. Gives the state to keep, and whether something was
 * put into the outbox.
 */
export async function carryOut(
  services: Services,
  db: Kysely<Database>,
  check: AlertedCheck,
  { effects, decision, state }: Step,
  aboutResultId: string | null,
  verdictOf: (resultId: string) => Promise<RunVerdict | null>,
): Promise<{ state: AlertState; hasNews: boolean }> {
  const { clock, newId } = services;
  const { account_id: accountId, id: checkId, name: checkName } = check.row;
  const incident = { accountId, checkId, checkName, at: clock.now() };
  let told: Told | null = null;
  for (const effect of effects) {
    switch (effect.kind) {
      case 'alert':
        told = await tell(services, db, check, effect, await verdictOf(effect.resultId));
        break;
      case 'open-incident':
        if (check.triggerIncident !== null) {
          await openIncidentOf(services, db, incident, check.triggerIncident);
        }
        break;
      case 'resolve-incident':
        await resolveIncidentOf(services, db, incident);
        break;
    }
  }
  if (decision !== null) {
    const isSent = told !== null && told.ids.length > 0;
    const hasNobody = decision.isRaised && !isSent;
    await insertDecision(
      db,
      { id: newId(), now: clock.now() },
      {
        accountId,
        checkId,
        checkResultId: aboutResultId,
        cause: decision.cause,
        alertType: decision.alertType,
        reason: hasNobody ? 'NO_CHANNEL' : decision.reason,
        isSent,
        details: {
          explanation: hasNobody ? explainReason('NO_CHANNEL') : explain(decision, check.rules),
          decision,
          rules: check.rules,
          addressees: told?.addressees ?? [],
        },
        checkAlertId: told?.alertId ?? null,
      },
    );
  }
  // An incident informs subscribers through the outbox as well.
  return { state: told === null ? state : withTold(state, told.ids), hasNews: effects.length > 0 };
}
