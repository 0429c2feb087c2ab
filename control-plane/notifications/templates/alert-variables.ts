/** Template variables of webhooks. Existing templates use these names. */
import type { RootCause } from '@monitor/shared/contract/root-cause.ts';
import type { NotificationFacts } from '../facts.ts';
import { linkToResult } from '../links.ts';
import { locationName, type Message } from '../message.ts';
import { durationText, namesText } from '../phrases.ts';
import { isNumeric, type TemplateValue } from './template-value.ts';

export type AlertVariables = Record<string, TemplateValue>;

const none: AlertVariables = {
  ALERT_TITLE: '',
  ALERT_TYPE: '',
  CHECK_NAME: null,
  CHECK_ID: null,
  CHECK_TYPE: null,
  CHECK_DESCRIPTION: null,
  CHECK_RESULT_ID: null,
  CHECK_ERROR_MESSAGE: null,
  GROUP_NAME: null,
  RESPONSE_TIME: null,
  API_CHECK_RESPONSE_STATUS_CODE: null,
  API_CHECK_RESPONSE_STATUS_TEXT: null,
  RUN_LOCATION: null,
  REGION: null,
  RESULT_LINK: null,
  STARTED_AT: null,
  TAGS: [],
  IS_REMINDER: false,
  REMINDER_SEQUENCE: 0,
  SSL_DAYS_REMAINING: null,
  SSL_CHECK_DOMAIN: null,
  ACKNOWLEDGED_BY: null,
  OUTAGE_DURATION: null,
  AI_ANALYSIS_CLASSIFICATION: null,
  AI_ANALYSIS_ROOT_CAUSE: null,
  AI_ANALYSIS_USER_IMPACT: null,
  AI_ANALYSIS_CODE_FIX: null,
  AI_ANALYSIS_LINK: null,
};

const aboutTests: AlertVariables = {
  ALERT_TYPE: 'TEST',
  CHECK_NAME: 'Test',
  CHECK_ID: '00000000-0000-4000-8000-000000000000',
  CHECK_TYPE: 'URL',
  CHECK_ERROR_MESSAGE: 'this is a test, nothing is wrong',
  RESPONSE_TIME: 123,
  RUN_LOCATION: locationName('eu-central-1'),
  REGION: 'eu-central-1',
  TAGS: ['test'],
};

/** Names of the field: a table decides here, and no model. */
function analysisOf(cause: RootCause | undefined): AlertVariables {
  if (cause === undefined) return {};
  return {
    AI_ANALYSIS_CLASSIFICATION: cause.classification,
    AI_ANALYSIS_ROOT_CAUSE: cause.rootCause,
    AI_ANALYSIS_USER_IMPACT: cause.userImpact,
    AI_ANALYSIS_LINK: cause.referenceLinks[0]?.url ?? null,
  };
}

function aboutFacts(facts: NotificationFacts, message: Message, publicUrl: string): AlertVariables {
  switch (facts.kind) {
    case 'alert': {
      const { check, result, ssl } = facts;
      const code = result?.statusCode ?? null;
      return {
        ALERT_TYPE: facts.alertType,
        CHECK_NAME: check.name,
        CHECK_ID: check.id,
        CHECK_TYPE: check.type,
        CHECK_DESCRIPTION: check.description,
        CHECK_RESULT_ID: result?.id ?? null,
        CHECK_ERROR_MESSAGE: result?.error ?? null,
        GROUP_NAME: check.groupName,
        RESPONSE_TIME: result === null ? null : Math.round(result.responseTimeMs),
        API_CHECK_RESPONSE_STATUS_CODE: isNumeric(code) ? Number(code) : code,
        API_CHECK_RESPONSE_STATUS_TEXT: result?.statusText ?? null,
        RUN_LOCATION:
          result === null ? null : (result.locationName ?? locationName(result.location)),
        REGION: result?.location ?? null,
        RESULT_LINK: result === null ? null : linkToResult(publicUrl, check.id, result.id),
        STARTED_AT: new Date(result?.startedAt ?? facts.at).toISOString(),
        TAGS: check.tags,
        IS_REMINDER: facts.isReminder,
        REMINDER_SEQUENCE: facts.reminderSequence,
        SSL_DAYS_REMAINING: ssl?.daysRemaining ?? null,
        SSL_CHECK_DOMAIN: ssl?.domain ?? null,
        ACKNOWLEDGED_BY: facts.acknowledged?.by ?? null,
        ...analysisOf(facts.rootCause),
        OUTAGE_DURATION:
          message.tone === 'recovered' && facts.since !== null
            ? durationText(facts.at - facts.since)
            : null,
      };
    }
    case 'location':
      return {
        ALERT_TYPE: facts.isServed ? 'LOCATION_SERVED' : 'LOCATION_UNSERVED',
        RUN_LOCATION: facts.locationName,
        REGION: facts.location,
        STARTED_AT: new Date(facts.unservedSince).toISOString(),
      };
    case 'faults':
      return {
        ALERT_TYPE: facts.isOver ? 'LOCATION_FAULTS_OVER' : 'LOCATION_FAULTS',
        CHECK_ERROR_MESSAGE: facts.message,
        RUN_LOCATION: facts.locationName,
        REGION: facts.location,
        STARTED_AT: new Date(facts.since).toISOString(),
      };
    case 'group': {
      const { began, ended, open, since, sequence } = facts;
      const checks = new Map([...began.checks, ...ended.checks].map(({ id, name }) => [id, name]));
      return {
        ALERT_TYPE: open === 0 ? 'ALERT_GROUP_RECOVERY' : 'ALERT_GROUP',
        CHECK_NAME: namesText([...checks.values()]),
        CHECK_ERROR_MESSAGE: null,
        RESULT_LINK: message.link.url,
        STARTED_AT: new Date(since).toISOString(),
        IS_REMINDER: sequence > 1,
        REMINDER_SEQUENCE: sequence - 1,
        ...analysisOf(facts.rootCauses?.[0]),
        ACKNOWLEDGED_BY: namesText(facts.acknowledgedBy ?? []) || null,
        OUTAGE_DURATION: open === 0 ? durationText(facts.at - since) : null,
      };
    }
    case 'maintenance':
      return {
        ALERT_TYPE: 'MAINTENANCE_OVERRUN',
        CHECK_NAME: facts.name,
        RESULT_LINK: message.link.url,
        STARTED_AT: new Date(facts.startedAt).toISOString(),
      };
    case 'control-plane':
      return {
        ALERT_TYPE: facts.isOver ? 'CONTROL_PLANE_BACK' : 'CONTROL_PLANE_AWAY',
        CHECK_NAME: message.subject,
        RESULT_LINK: publicUrl,
        STARTED_AT: new Date(facts.at).toISOString(),
      };
    case 'report':
      return {
        ALERT_TYPE: 'REPORT',
        CHECK_ERROR_MESSAGE: facts.details.map((of) => `${of.label}: ${of.value}`).join('\n'),
        RESULT_LINK: facts.link.url,
        STARTED_AT: new Date(facts.at).toISOString(),
      };
    case 'test':
      return {
        ...aboutTests,
        RESULT_LINK: publicUrl,
        STARTED_AT: new Date(facts.at).toISOString(),
      };
  }
}

/** All variables by name. Variables that do not apply are null; `TAGS` is always a list. */
export function alertVariables(
  facts: NotificationFacts,
  message: Message,
  publicUrl: string,
): AlertVariables {
  const known = { ...none, ...aboutFacts(facts, message, publicUrl), ALERT_TITLE: message.title };
  // A degraded check has not failed, but receivers expect the reason under this name.
  const isSlow = message.tone === 'degraded' && message.reason !== '';
  const isOverloaded = facts.kind === 'alert' && facts.result?.overload !== undefined;
  return isSlow || isOverloaded ? { ...known, CHECK_ERROR_MESSAGE: message.reason } : known;
}
