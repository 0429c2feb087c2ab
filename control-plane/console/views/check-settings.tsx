/** The settings of a check: a summary, and the JSON. */
import type { Assertion } from '@monitor/shared/contract/assertion.ts';
import type { Check, DataAt } from '../contract.ts';
import { checkTypes } from '../facts.ts';
import { count, duration, inWords } from '../format.ts';
import { Code } from '../parts/code.tsx';
import { useMe } from '../me.ts';
import { Facts, Table } from '../parts/layout.tsx';
import { useQuery } from '../query.ts';
import { isPinged } from '../state.ts';

function retriesOf({ checkType, retryStrategy: strategy, doubleCheck }: Check) {
  if (checkTypes[checkType]?.isRetried !== true) return 'none';
  if (strategy == null || strategy === 'FALLBACK') return doubleCheck ? 'once (default)' : 'none';
  if (strategy.type === 'SINGLE_RETRY') return 'once';
  const base = duration(strategy.baseBackoffSeconds * 1000);
  return `${inWords(strategy.type)}, up to ${strategy.maxRetries}, from ${base}`;
}

export function alertSettingsInWords(settings: DataAt<'v1/accounts/me'>['alertSettings']) {
  const when =
    settings.escalationType === 'TIME_BASED'
      ? `after ${settings.timeBasedEscalation?.minutesFailingThreshold ?? 5} min of failing`
      : `after ${count(settings.runBasedEscalation?.failedRunThreshold ?? 1, 'failed run')}`;
  const { amount = 0, interval = 5 } = settings.reminders ?? {};
  const escalates = settings.escalationPolicyId ? `${when}, then by an escalation policy` : when;
  return amount === 0 ? escalates : `${escalates}, reminders every ${interval} min`;
}

function alertingOf({ useGlobalAlertSettings, alertSettings: settings, muted }: Check) {
  if (muted) return 'muted';
  return useGlobalAlertSettings || settings == null
    ? 'account defaults'
    : alertSettingsInWords(settings);
}

function Assertions({ assertions }: { assertions: Assertion[] | undefined }) {
  if (!assertions || assertions.length === 0) return null;
  return (
    <>
      <h3>Assertions</h3>
      <Table label="Assertions" columns={['Source', 'Property', 'Comparison', 'Target']}>
        {assertions.map((assertion, index) => (
          <tr key={index}>
            <td>{inWords(assertion.source)}</td>
            <td class="mono">{assertion.property}</td>
            <td>{inWords(assertion.comparison)}</td>
            <td class="mono">{assertion.target}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}

const signatureWords = {
  NONE: null,
  VALID: 'of what the check is now',
  CHANGED: 'of an earlier version: agents that run only signed work refuse the check',
  UNREADABLE: 'cannot be read: agents that run only signed work refuse the check',
} as const;

function signatureOf({ signature }: Check, state: keyof typeof signatureWords | undefined) {
  if (signature == null) return null;
  const at = new Date(signature.version).toISOString();
  return `${signatureWords[state ?? 'NONE'] ?? 'signed'} (version ${signature.version}, ${at})`;
}

export function CheckSettings({ check }: { check: Check }) {
  const channels = check.alertChannelSubscriptions.filter(({ activated }) => activated);
  const { mayWrite } = useMe();
  const isAsked = check.signature != null && mayWrite;
  const signed = useQuery(isAsked ? `v1/checks/${check.id}/signed-part` : null);
  return (
    <div class="card">
      <Facts
        wide
        entries={[
          ['Retries', isPinged(check) ? null : retriesOf(check)],
          [
            'Location strategy',
            check.runParallel === undefined ? null : check.runParallel ? 'parallel' : 'round robin',
          ],
          ['Alerts', alertingOf(check)],
          ['Alert channels', String(channels.length)],
          ['Degraded above', check.degradedResponseTime && duration(check.degradedResponseTime)],
          ['Fails above', check.maxResponseTime && duration(check.maxResponseTime)],
          ['Result', check.shouldFail ? 'inverted (should fail)' : null],
          ['Runtime', check.runtimeId],
          ['Opens an incident', check.triggerIncident?.name],
          ['Signature', signatureOf(check, signed.data?.state)],
          ['Id', <span class="mono">{check.id}</span>],
        ]}
      />
      <Assertions assertions={check.request?.assertions} />
      {check.script && <Code label="Script" text={check.script} />}
      {check.prompt && <Code label="Prompt" text={check.prompt} />}
      <details>
        <summary>JSON</summary>
        <Code label="Check" text={JSON.stringify(check)} />
      </details>
    </div>
  );
}
