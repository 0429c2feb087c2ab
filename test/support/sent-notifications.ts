/** The notifications that alerts about agents send, and the checks and channels that it takes. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import type { NotificationFacts } from '../../control-plane/notifications/facts.ts';
import type { TestControlPlane } from './control-plane.ts';

/** What was ever put into the outbox, whoever delivers it. */
export class SentNotifications<F extends NotificationFacts> implements Disposable {
  readonly #db: DatabaseSync;

  constructor(file: string) {
    this.#db = new DatabaseSync(file);
    this.#db.exec(`create table if not exists sent_notifications (channel integer, content text);
      create trigger if not exists listen after insert on outbox begin
        insert into sent_notifications values (new.alert_channel_id, new.content_json); end`);
  }

  /** Since the last call. */
  take() {
    const rows = this.#db
      .prepare('select channel, content from sent_notifications order by channel')
      .all();
    this.#db.exec('delete from sent_notifications');
    return rows.map(({ channel, content }) => ({
      channel: Number(channel),
      facts: JSON.parse(String(content)) as F,
    }));
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }
}

export async function makeChannel(cp: TestControlPlane, fields: Record<string, unknown> = {}) {
  const config = { address: 'ops@shop.example' };
  const { body } = await cp.api('POST', '/v1/alert-channels', { type: 'EMAIL', config, ...fields });
  return body.id as number;
}

export async function makeCheck(
  cp: TestControlPlane,
  channels: readonly number[],
  fields: Record<string, unknown> = {},
): Promise<string> {
  const { status, body } = await cp.api('POST', '/v1/checks/url?autoAssignAlerts=false', {
    name: 'shop',
    locations: ['eu-west-1'],
    frequency: 10,
    request: { url: 'https://a.example' },
    alertChannelSubscriptions: channels.map((alertChannelId) => ({
      alertChannelId,
      activated: true,
    })),
    ...fields,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id as string;
}
