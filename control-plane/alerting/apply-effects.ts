/** Applies the effects of a step: the alert, its incident, and the record of the decision. */
import type { Db } from '../db/tables.ts';
import { addresseesOf, type Addressee } from './decide/channels.ts';
import { explain, explainReason } from './decide/explain.ts';
import type { AlertState } from './decide/state.ts';
import type { Effect } from './decide/transition.ts';
import type { Step } from './decide/step.ts';
import type { Services } from '../core/services.ts';
import { openIncidentOf, resolveIncidentOf } from '../incidents/index.ts';
import type { AlertedCheck } from './alerted-checks.ts';
import { insertDecision } from './decision-rows.ts';
import { raiseAlert } from './raise-alert.ts';
import type { RunVerdict } from '../results/index.ts';
import { subscribedChannels } from './subscribed-channels.ts';

interface SentAlert {
  alertId: string;
  addressees: Addressee[];
  ids: number[];
}

async function sendAlert(
  services: Services,
  db: Db,
  check: AlertedCheck,
  effect: Extract<Effect, { kind: 'alert' }>,
  result: RunVerdict | null,
): Promise<SentAlert> {
  const { alertType, key, since, reminder, notified } = effect;
  const channels = await subscribedChannels(db, check.row);
  const addressees = addresseesOf(channels, alertType, notified);
  const alertId = await raiseAlert(services, db, check, {
    alertType,
    key,
    occasion: `${effect.resultId}/${since}/${reminder}`,
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

function withNotified(state: AlertState, ids: readonly number[]): AlertState {
  const { alert } = state;
  if (alert === null) return state;
  return { ...state, alert: { ...alert, told: [...new Set([...alert.told, ...ids])] } };
}

/**
 * Writes the effects and the decision of a step about a result. Gives the state to store, and
 * whether something was added to the outbox.
 */
export async function applyEffects(
  services: Services,
  db: Db,
  check: AlertedCheck,
  { effects, decision, state }: Step,
  aboutResultId: string | null,
  verdictOf: (resultId: string) => Promise<RunVerdict | null>,
): Promise<{ state: AlertState; isQueued: boolean }> {
  const { clock, newId } = services;
  const { account_id: accountId, id: checkId, name: checkName } = check.row;
  const incident = { accountId, checkId, checkName, at: clock.now() };
  let sent: SentAlert | null = null;
  for (const effect of effects) {
    switch (effect.kind) {
      case 'alert':
        sent = await sendAlert(services, db, check, effect, await verdictOf(effect.resultId));
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
    const isSent = sent !== null && sent.ids.length > 0;
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
          addressees: sent?.addressees ?? [],
        },
        checkAlertId: sent?.alertId ?? null,
      },
    );
  }
  // Opening or closing an incident adds mails to the outbox as well.
  return {
    state: sent === null ? state : withNotified(state, sent.ids),
    isQueued: effects.length > 0,
  };
}
