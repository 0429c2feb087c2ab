/**
 * SLACK_APP: messages by the app of a workspace, to channels and people. A recovery changes the messages
 * about its incident; who has a message already gets none by a further attempt.
 */
import { cannotBeSent, resultText, type Attempt } from '../attempt.ts';
import {
  pausesOfServices,
  type Channel,
  type Notification,
  type Transports,
  type ConfigOf,
} from '../channel.ts';
import { isClosing } from '../message.ts';
import { cannotUpdate, type SlackApp, type SlackFailure } from '../slack-app.ts';
import { slackBody } from './slack.ts';

export const withoutSlackApp =
  'no Slack app is connected: the operator sets SLACK_APP_TOKEN to the bot token of an app of the workspace';

/** Nothing further is begun after this time: the claim of the row ends with `timeoutMs`. */
const beginsWithinMs = 30_000;
const tooSlow: SlackFailure = {
  ...{ kind: 'failed', reason: 'Slack answered too slowly', isFinal: false },
};

type Failed = SlackFailure & { entry: string };

/** Slack limits an app by method: that of the names says nothing about posting. */
function isLimited(entry: string, failed: readonly Failed[]): boolean {
  return failed.some(
    (one) => one.kind === 'rate-limited' && (one.isOfNames !== true || entry.startsWith('@')),
  );
}

async function conversationOf(
  entry: string,
  app: SlackApp,
  signal: AbortSignal,
): Promise<{ id: string } | SlackFailure> {
  if (!entry.startsWith('@')) return { id: entry };
  const found = await app.idOf(entry.slice(1), signal);
  if ('kind' in found) return found;
  if (found.id !== null) return { id: found.id };
  return { kind: 'failed', reason: 'the workspace has nobody of this name', isFinal: true };
}

/** Sends to one entry; null when it is done. */
async function sendTo(
  entry: string,
  { message }: Notification,
  app: SlackApp,
  { slackMessages, signal }: Transports,
  isLate: () => boolean,
): Promise<SlackFailure | null> {
  const { channel: _channel, ...content } = slackBody(message, null) as Record<string, unknown>;
  const { incidentKey, tone } = message;
  const ends = isClosing(tone);
  if (ends) {
    const open = await slackMessages.open(incidentKey, entry);
    let last: (typeof open)[number] | null = null;
    for (const one of open) {
      if (isLate()) return tooSlow;
      const failure = await app.update(one, content, signal);
      if (failure === null) last ??= one;
      else if (!('error' in failure) || !cannotUpdate.has(failure.error ?? '')) return failure;
    }
    if (last !== null) {
      await slackMessages.keep(incidentKey, entry, last, true);
      return null;
    }
  }
  const conversation = await conversationOf(entry, app, signal);
  if ('kind' in conversation) return conversation;
  const posted = await app.post(conversation.id, content, signal);
  if ('kind' in posted) return posted;
  await slackMessages.keep(incidentKey, entry, posted, ends);
  return null;
}

function attemptOf(sent: readonly string[], failed: readonly Failed[]): Attempt {
  const done = sent.length === 0 ? [] : [`sent to ${sent.join(', ')}`];
  const reasons = failed.map((one) =>
    one.kind === 'failed' ? `${one.entry}: ${one.reason}` : `${one.entry}: rate limited`,
  );
  const result = resultText([...reasons, ...done].join('\n'), []);
  if (failed.length === 0) return { outcome: 'delivered', result };
  const limits = failed.flatMap((one) => (one.kind === 'rate-limited' ? [one] : []));
  if (limits.length > 0) {
    const waits = limits.map(({ retryAfterMs }) => retryAfterMs ?? 0);
    return { outcome: 'rate-limited', result, retryAfterMs: Math.max(...waits) };
  }
  const isFinal = failed.every((one) => one.kind === 'failed' && one.isFinal);
  return { outcome: 'failed', result, isFinal };
}

export const slackAppChannel: Channel<ConfigOf<'SLACK_APP'>> = {
  pausesMs: pausesOfServices,
  timeoutMs: 60_000,
  isOfOperator: true,
  destination: () => 'SLACK_APP',
  async deliver(notification, { slackChannels }, transports) {
    const { slackApp: app, slackMessages, clock } = transports;
    if (app === null) return cannotBeSent(withoutSlackApp);
    const entries = [...new Set(slackChannels)];
    const already = await slackMessages.sentTo();
    const sent = entries.filter((entry) => already.has(entry));
    const failed: Failed[] = [];
    const beginBy = clock.now() + beginsWithinMs;
    const isLate = () => clock.now() > beginBy;
    for (const entry of entries.filter((one) => !already.has(one))) {
      const failure: SlackFailure | null = isLimited(entry, failed)
        ? { kind: 'rate-limited', retryAfterMs: null }
        : isLate()
          ? tooSlow
          : await sendTo(entry, notification, app, transports, isLate);
      if (failure === null) sent.push(entry);
      else failed.push({ ...failure, entry });
    }
    return attemptOf(sent, failed);
  },
};
