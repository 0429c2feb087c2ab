/**
 * The pages of links in messages. GET asks and changes nothing, since mail scanners open every link;
 * POST acts. They need no session and no script.
 */
import { Router, type Request, type RequestHandler, type Response } from 'express';
import { html, type Markup } from '../core/html.ts';
import { doors } from '../core/doors.ts';
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
  isActionOf,
  linkSnoozeMs,
  type AlertLink,
  type LinkRecipient,
} from '../notifications/index.ts';
import {
  acknowledge,
  muteOf,
  outageOfAlert,
  outagesOfGroup,
  type Outage,
} from '../alerting/index.ts';
import { listMembers } from '../people/index.ts';

/** `sentTo` in words. */
type ReadLink = { link: AlertLink; sentTo: string } | { problem: string };

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function readRecipient(query: Request['query']): LinkRecipient | null {
  const personId = textOf(query['person']);
  if (personId !== '') return { personId };
  const channelId = Number(textOf(query['channel']));
  return Number.isSafeInteger(channelId) ? { channelId } : null;
}

/** In words; null for a deleted channel, and a person who has left the account. */
async function nameOfRecipient(
  { db }: Services,
  { accountId, recipient }: AlertLink,
): Promise<string | null> {
  if ('personId' in recipient) {
    const [person] = await listMembers(db, accountId, recipient.personId);
    return person?.name ?? null;
  }
  const channel = await db
    .selectFrom('alert_channels')
    .select('type')
    .where('account_id', '=', accountId)
    .where('id', '=', recipient.channelId)
    .executeTakeFirst();
  return channel === undefined ? null : `channel ${recipient.channelId} (${channel.type})`;
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
      const sentTo = await nameOfRecipient(services, link);
      if (sentTo !== null) return { link, sentTo };
      return 'personId' in recipient
        ? { problem: 'The person that this link was sent to has left the account.' }
        : { problem: 'The channel that this link was sent to was deleted.' };
    }
  }
}

const style =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:15vh auto;max-width:32rem;padding:0 1rem}button{font:inherit;padding:.6rem 1.2rem}';

function send(response: Response, status: number, title: string, body: Markup): void {
  response
    .status(status)
    .set({
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'no-store',
      'Referrer-Policy': 'no-referrer',
      'Content-Security-Policy':
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    })
    .send(
      html`<!doctype html>
        <html lang="en">
          <head>
            <meta charset="utf-8" />
            <meta name="viewport" content="width=device-width" />
            <meta name="robots" content="noindex" />
            <title>${title}</title>
            <style>
              ${style}
            </style>
          </head>
          <body>
            <main>
              <h1>${title}</h1>
              ${body}
            </main>
          </body>
        </html>`.text,
    );
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
    says: 'No further reminder is sent, to anybody. The recovery is.',
    button: 'Acknowledge',
    done: 'Acknowledged',
  },
  snooze: {
    asks: (what) => `Snooze ${what} for an hour?`,
    says: 'No reminder is sent for an hour, to anybody.',
    button: 'Snooze',
    done: 'Snoozed',
  },
  mute: {
    asks: (what) => `Mute the check of ${what}?`,
    says: 'Nothing about this check is sent to anybody, also no recovery, until somebody unmutes it in the console.',
    button: 'Mute',
    done: 'Muted',
  },
};

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
  over: ['It is over already', 'Nothing had to be done.'],
  used: [
    'Muted before',
    'This link mutes the check once. If somebody has unmuted it since, mute it in the console.',
  ],
} as const;

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
      send(response, 404, 'This link does not work', html`<p>${read.problem}</p>`);
      return;
    }
    const { target, action } = read.link;
    const what = target === 'group' ? 'these alerts' : 'this alert';
    const { asks, says, button } = pages[action];
    // The form goes to the address of the page, which has the signature.
    send(
      response,
      200,
      asks(what),
      html`<p>${says}</p>
        <form method="post">
          <button>${button}</button>
        </form>`,
    );
  });

  router.post(path, async (request, response) => {
    const read = await readLink(services, links, request);
    if ('problem' in read) {
      send(response, 404, 'This link does not work', html`<p>${read.problem}</p>`);
      return;
    }
    const { link, sentTo } = read;
    const { accountId, action } = link;
    const madeBy = `a link sent to ${sentTo}`;
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
      const [title, text] = endings[outcome];
      send(response, 200, title, html`<p>${text}</p>`);
      return;
    }
    onChange(accountId, action === 'mute' ? 'checks' : 'check-alerts');
    send(response, 200, pages[action].done, html`<p>You may close this page.</p>`);
  });
  return router;
}
