/** The page that the link of a mail is about. */
import { sha256Hex } from '../../core/keys.ts';
import type { Services } from '../../core/services.ts';
import { SubscriberKeys } from './subscriber-keys.ts';

/** The present path of the page of a token; undefined for an invalid token, or when the page was deleted. */
export async function pathOfLink(
  { db, secrets }: Pick<Services, 'db' | 'secrets'>,
  what: 'verify' | 'unsubscribe',
  token: string,
): Promise<string | undefined> {
  const pages = db.selectFrom('status_pages').select('status_pages.url');
  const read = new SubscriberKeys(secrets).readUnsubscribeToken(token);
  const ofToken =
    what === 'unsubscribe'
      ? pages.where('id', '=', read?.pageId ?? '')
      : pages
          .innerJoin(
            'status_page_subscriptions as asked',
            'asked.status_page_id',
            'status_pages.id',
          )
          .where('asked.token_hash', '=', sha256Hex(token));
  return (await ofToken.executeTakeFirst())?.url;
}
