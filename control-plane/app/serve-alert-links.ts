/**
 * The pages of links in messages. GET asks and changes nothing, since mail scanners open every link;
 * POST acts. They need no session and no script.
 */
import { Router, type Request, type RequestHandler, type Response } from 'express';
import { html, type Markup } from '../core/html.ts';
import { doors } from '../core/doors.ts';
import { sendPage } from '../http/plain-page.ts';
import type { Services } from '../core/services.ts';
import type { RateLimiter } from '../http/rate-limit.ts';
import { visitorOf } from '../http/visitor.ts';
import { recordDone } from '../audit/index.ts';
import { muteCheck } from '../checks/index.ts';
import {
  type AlertAction,
  alertActions,
  alertLinkPath,
  AlertLinks,
  alertTargets,
  count,
  durationText,
  instantText,
  isActionOf,
  linkSnoozeMs,
  type AlertLink,
  type LinkRecipient,
} from '../notifications/index.ts';
import {
  acknowledge,
  alertOfOutages,
  muteOf,
  outageOfAlert,
  outagesOfGroup,
  type Outage,
} from '../alerting/index.ts';
import { listMembers } from '../people/index.ts';

/** `user` in words, as behind "acknowledged by". */
type ReadLink = { link: AlertLink; user: string } | { problem: string };

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function readRecipient(query: Request['query']): LinkRecipient | null {
  const personId = textOf(query['person']);
  if (personId !== '') return { personId };
  const idIn = (name: string) => {
    const id = Number(textOf(query[name]));
    return Number.isSafeInteger(id) && id > 0 ? id : null;
  };
  const [deviceId, channelId] = [idIn('device'), idIn('channel')];
  if (deviceId !== null) return { deviceId };
  return channelId === null ? null : { channelId };
}

/** Null for a deleted channel, a removed device, and a person who has left the account. */
async function nameOfRecipient(
  { db }: Services,
  { accountId, recipient }: AlertLink,
): Promise<string | null> {
  if ('personId' in recipient) {
    const [person] = await listMembers(db, accountId, recipient.personId);
    return person === undefined ? null : `${person.name} from a mail`;
  }
  if ('deviceId' in recipient) {
    const device = await db
      .selectFrom('push_devices')
      .innerJoin('people', 'people.id', 'push_devices.person_id')
      .select(['people.name as person', 'push_devices.name'])
      .where('push_devices.account_id', '=', accountId)
      .where('push_devices.id', '=', recipient.deviceId)
      .executeTakeFirst();
    if (device === undefined) return null;
    return `${device.person} from ${/Android|iOS/.test(device.name) ? 'a phone' : 'a computer'}`;
  }
  const channel = await db
    .selectFrom('alert_channels')
    .select('type')
    .where('account_id', '=', accountId)
    .where('id', '=', recipient.channelId)
    .executeTakeFirst();
  return channel === undefined
    ? null
    : `someone from a message to channel ${recipient.channelId} (${channel.type})`;
}

async function readLink(
  services: Services,
  links: AlertLinks,
  { params, query }: Request,
): Promise<ReadLink> {
  const target = alertTargets.find((each) => each === params['target']);
  const action = alertActions.find((each) => each === params['action']);
  const recipient = readRecipient(query);
  const expiresAt = Number(textOf(query['expires']));
  const problem = 'This link is not complete. Open it from the message again.';
  if (target === undefined || action === undefined || recipient === null) return { problem };
  if (!Number.isSafeInteger(expiresAt) || !isActionOf(target, action)) return { problem };
  const link: AlertLink = {
    ...{ target, action, recipient, expiresAt },
    accountId: textOf(query['account']),
    id: textOf(params['id']),
  };
  switch (links.check(link, textOf(query['signature']), services.clock.now())) {
    case 'altered':
      return { problem };
    case 'expired':
      return { problem: 'This link has expired. Acknowledge the alert in the console.' };
    case 'valid': {
      const user = await nameOfRecipient(services, link);
      if (user !== null) return { link, user };
      if ('deviceId' in recipient) {
        return { problem: 'This device was removed from its person. Acknowledge in the console.' };
      }
      return 'personId' in recipient
        ? { problem: 'The person that this link was sent to has left the account.' }
        : { problem: 'The channel that this link was sent to was deleted.' };
    }
  }
}

async function outagesOf(
  { db }: Services,
  { target, accountId, id }: AlertLink,
): Promise<Outage[]> {
  if (target === 'group') return outagesOfGroup(db, accountId, id);
  const outage = await outageOfAlert(db, accountId, id);
  return outage === null ? [] : [outage];
}

interface Page {
  asks: (what: string) => string;
  says: string;
  button: string;
  done: string;
}

const pages: Record<AlertAction, Page> = {
  acknowledge: {
    asks: (what) => `Acknowledge ${what}?`,
    says: "Stops reminders for everyone. You'll still be notified when it recovers.",
    button: 'Acknowledge',
    done: 'Acknowledged',
  },
  snooze: {
    asks: (what) => `Snooze ${what} for an hour?`,
    says: "Stops reminders for everyone for an hour. You'll still be notified when it recovers.",
    button: 'Snooze for an hour',
    done: 'Snoozed for an hour',
  },
  mute: {
    asks: (what) => `Mute ${what}?`,
    says: 'Stops all notifications about this check, including recoveries, until someone unmutes it in the console.',
    button: 'Mute',
    done: 'Muted',
  },
};

type FoundAlert = Awaited<ReturnType<typeof alertOfOutages>>;

const instant = (at: number): Markup =>
  html`<time datetime="${new Date(at).toISOString()}">${instantText(at)}</time>`;

/** What the link is about: checks, error, since when, and who took it before. */
function factsMarkup({ names, total, error, since, acknowledgement }: FoundAlert, now: number) {
  if (total === 0) return null;
  const others = total - names.length;
  return html`<dl>
    <dt>${total === 1 ? 'Check' : 'Checks'}</dt>
    <dd>${names.join(', ')}${others > 0 && ` and ${others} more`}</dd>
    ${
      error !== null &&
      html`<dt>Error</dt>
        <dd class="bad">${error}</dd>`
    }
    ${
      since !== null &&
      html`<dt>Since</dt>
        <dd>${instant(since)}, ${durationText(now - since)} ago</dd>`
    }
    ${
      acknowledgement !== undefined &&
      html`<dt>${acknowledgement.kind === 'SNOOZED' ? 'Snoozed' : 'Acknowledged'}</dt>
        <dd>by ${acknowledgement.made_by}, ${instant(acknowledgement.created_at)}</dd>`
    }
  </dl>`;
}

/** Mutes the check of an alert that is open, once for each link. */
async function mute(
  services: Services,
  accountId: string,
  outages: readonly Outage[],
  by: { name: string; address: string | null; use: string },
): Promise<'done' | 'over' | 'used'> {
  const [outage] = outages;
  if (outage === undefined) return 'over';
  const { state, note } = await muteOf(services.db, accountId, outage, by.use);
  if (state !== 'open') return state;
  const { checkId } = outage;
  if (await muteCheck(services, accountId, checkId)) {
    await recordDone(services, {
      accountId,
      actor: { kind: 'NOBODY', name: by.name },
      address: by.address,
      operation: 'updateCheck',
      outcome: 'DONE',
      resource: { type: 'checks', id: checkId },
      before: { muted: false },
      after: { muted: true },
    });
  }
  await note(by.name, services.clock.now());
  return 'done';
}

const endings = {
  over: ['Already recovered', 'Nothing was left to do.'],
  used: [
    'Already muted with this link',
    'A link mutes its check once. If someone has unmuted the check since, mute it in the console.',
  ],
} as const;

/** A notification of a phone asks for JSON, to say it without a page. */
function sendAnswer(
  { request, response }: { request: Request; response: Response },
  status: number,
  [title, text]: readonly [title: string, text: string],
  body: Markup = html`<p>${text}</p>`,
): void {
  if (request.accepts(['html', 'json']) !== 'json') sendPage(response, status, title, body);
  else response.status(status).set('Cache-Control', 'no-store').json({ title, text });
}

/** `onChange` gets the first word of the path at which the API shows what has changed. */
export function serveAlertLinks(
  services: Services,
  attempts: RateLimiter,
  onChange: (accountId: string, what: string) => void,
): RequestHandler {
  const links = new AlertLinks(services.secrets, services.publicUrl);
  const { clock } = services;
  const router = Router();
  const path = `${alertLinkPath}/:target/:id/:action`;

  router.use(alertLinkPath, (request, _response, next) => {
    attempts.refuseMany(`alert link ${visitorOf(request)}`, doors.alertLinks.address.uses);
    next();
  });
  router.get(path, async (request, response) => {
    const read = await readLink(services, links, request);
    if ('problem' in read) {
      sendPage(response, 404, 'This link does not work', html`<p>${read.problem}</p>`);
      return;
    }
    const { accountId, target, action } = read.link;
    const outages = await outagesOf(services, read.link);
    const alert = await alertOfOutages(services.db, accountId, outages);
    const [name = 'this alert'] = alert.names;
    const { asks, says, button } = pages[action];
    // The form goes to the address of the page, which has the signature.
    sendPage(
      response,
      200,
      asks(target === 'group' ? count(alert.total, 'alert') : name),
      html`${factsMarkup(alert, clock.now())}
        <form method="post">
          <button>${button}</button>
        </form>
        <p>${says}</p>`,
    );
  });

  router.post(path, async (request, response) => {
    const call = { request, response };
    const read = await readLink(services, links, request);
    if ('problem' in read) {
      sendAnswer(call, 404, ['This link does not work', read.problem]);
      return;
    }
    const { link, user: madeBy } = read;
    const { accountId, action } = link;
    const outages = await outagesOf(services, link);
    const isSnooze = action === 'snooze';
    const use = `${action}/${Object.values(link.recipient).join()}/${link.expiresAt}`;
    const by = { name: madeBy, address: request.ip ?? null, use };
    const outcome =
      action === 'mute'
        ? await mute(services, accountId, outages, by)
        : (await acknowledge(services, accountId, outages, {
              kind: isSnooze ? 'SNOOZED' : 'ACKNOWLEDGED',
              untilAt: isSnooze ? clock.now() + linkSnoozeMs : null,
              madeBy,
              occasion: use,
            })) > 0
          ? 'done'
          : 'over';
    if (outcome !== 'done') {
      sendAnswer(call, 200, endings[outcome]);
      return;
    }
    onChange(accountId, action === 'mute' ? 'checks' : 'check-alerts');
    const alert = await alertOfOutages(services.db, accountId, outages);
    sendAnswer(
      call,
      200,
      [pages[action].done, alert.names.join(', ')],
      html`${factsMarkup(alert, clock.now())}
        <p>You can close this page.</p>`,
    );
  });
  return router;
}
