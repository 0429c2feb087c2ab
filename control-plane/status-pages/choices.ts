/** The language and the time zone of an answer: what a link says, then the browser, then the page. */
import type { Request } from 'express';
import { timezone } from '@monitor/shared/contract/primitives.ts';
import type { Place } from './html/place.ts';
import { type Language, localeOf, localeOfPage, localeOfVisitor } from './languages/locale.ts';
import type { PageLook } from './view/facts.ts';

/** Feeds, badges and the like: programs read them, so that the browser decides nothing. */
export function isForPrograms(path: string): boolean {
  return /^\/(api\/|services\/|feed\.|slack\.|badge\.|maintenance\.)/.test(path);
}

interface Asked {
  request: Request;
  query: URLSearchParams;
  /** `/`, `/history`. */
  path: string;
}

type PageDefaults = Pick<PageLook, 'language' | 'languages' | 'timezone'>;
type Choices = Pick<Place, 'locale' | 'languages' | 'chosen'>;

function languagesOf({ language, languages }: PageDefaults): Language[] {
  return [...new Set([language, ...languages])];
}

/** The language and the time zone of a page, where the visitor has chosen none. */
export function choicesOfPage(page: PageDefaults): Choices {
  return { locale: localeOfPage(page), languages: languagesOf(page), chosen: {} };
}

/** Names of time zones as Intl spells them, by the lower case of what links said: at most all there are. */
const zones = new Map<string, string>();

/** The time zone that a link names, if it names one. */
function chosenZone(query: URLSearchParams): string | undefined {
  const asked = query.get('timezone');
  const known = zones.get(asked?.toLowerCase() ?? '');
  if (asked === null || known !== undefined) return known;
  const named = timezone.safeParse(asked);
  if (!named.success) return undefined;
  // One spelling, so that one document is kept for each.
  const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: named.data }).resolvedOptions();
  zones.set(asked.toLowerCase(), timeZone);
  return timeZone;
}

/** `variesByLanguage` is true when another browser may get another answer. */
export function choicesOf(
  page: PageDefaults,
  { request, query, path }: Asked,
): Choices & { variesByLanguage: boolean } {
  const languages = languagesOf(page);
  const named = languages.find((language) => language === query.get('language'));
  const zone = chosenZone(query);
  const variesByLanguage = named === undefined && languages.length > 1 && !isForPrograms(path);
  const accepted = variesByLanguage && request.acceptsLanguages(languages);
  const language = named ?? (accepted === false ? page.language : (accepted as Language));
  return {
    locale:
      zone === undefined ? localeOf(language, page.timezone) : localeOfVisitor(language, zone),
    languages,
    chosen: {
      ...(named !== undefined && { language: named }),
      ...(zone !== undefined && { timezone: zone }),
    },
    variesByLanguage,
  };
}
