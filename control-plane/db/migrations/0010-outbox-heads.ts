/**
 * Which row of an ordering key comes next stands in the row itself, so that whoever looks for what may
 * be sent does not walk over those that wait behind it. The database sees to it, whatever writes or
 * deletes. A lane is what has a bound of its own: a channel, or the mails of an account.
 */
import { sql, type Kysely } from 'kysely';

const statements = [
  `alter table outbox add column comes_next integer not null default 1`,
  `update outbox set comes_next = 0 where exists (
    select 1 from outbox as earlier
    where earlier.ordering_key = outbox.ordering_key and earlier.seq < outbox.seq)`,
  `create trigger outbox_waits_behind after insert on outbox
    when exists (select 1 from outbox where ordering_key = new.ordering_key and seq < new.seq)
    begin
      update outbox set comes_next = 0 where seq = new.seq;
    end`,
  `create trigger outbox_moves_up after delete on outbox
    when old.comes_next = 1 and old.ordering_key is not null
    begin
      update outbox set comes_next = 1
        where seq = (select min(seq) from outbox where ordering_key = old.ordering_key);
    end`,
  `alter table outbox add column lane text not null
    generated always as (account_id || '/' || coalesce(alert_channel_id, 'mail')) virtual`,
  `create index outbox_lanes on outbox (lane, next_attempt_at, seq) where comes_next = 1`,
  `create index outbox_untried on outbox (next_attempt_at) where attempts = 0`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}
